# What `cmake --install` copies: the core as find_package(shardproof) finds it, with the checker and without the prover.
# shardproof::shardproof is everything that runs on threads; the component mpi adds shardproof::mpi where MPI was found, cuda shardproof::cuda where CUDA and NCCL were.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(shardproof_config ${CMAKE_INSTALL_LIBDIR}/cmake/shardproof)
set(shardproof_headers ${CMAKE_INSTALL_INCLUDEDIR}/shardproof)

# All that is installed, for ci/build.
add_custom_target(installed)

# shardproof_install(<name> <libraries> <headers>): libraries exported as shardproof-<name>.cmake, and an interface
# shardproof::<name> of the last of them.
function(shardproof_install name libraries headers)
  list(GET libraries -1 last)
  add_library(install_${name} INTERFACE)
  set_target_properties(install_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(install_${name} INTERFACE cxx_std_20)
  target_link_libraries(install_${name} INTERFACE ${last} ${ARGN})
  add_dependencies(installed ${libraries})
  install(TARGETS ${libraries} install_${name} EXPORT shardproof-${name} COMPONENT ${name}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/shardproof INCLUDES DESTINATION ${shardproof_headers})
  install(EXPORT shardproof-${name} NAMESPACE shardproof:: DESTINATION ${shardproof_config} COMPONENT ${name})
  foreach(header ${headers})
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${header} DESTINATION ${shardproof_headers}/${folder} COMPONENT ${name})
  endforeach()
endfunction()

# Not installed: impl/compile/unchecked.h, and the steps of plans.
shardproof_install(shardproof
  "spec_types;spec_diag;spec_algebra;spec_ir;spec_elaborate;spec_syntax;spec_schedule;spec_resolve;spec_rules;spec_denote;spec_lower;spec_cost;spec_grad;oracle;spec_check;kernels_cpu;impl_device_graph;impl_device;impl_comm;impl_comm_store;impl_comm_staged;impl_plan;impl_plan_passes;impl_tensor;impl_run;impl;impl_compile;impl_checkpoint;impl_interchange;impl_data;impl_train_step;impl_trainer"
  "spec/types/type.h;spec/diag/diagnostic.h;spec/ir/arith.h;spec/ir/indices.h;spec/ir/ops.h;spec/ir/pointwise.def;spec/ir/pointwise.h;spec/ir/program.h;spec/ir/rational.h;spec/syntax/ast.h;spec/resolve/resolve.h;spec/check/check.h;spec/check/derived.h;kernels/element.h;kernels/machine.h;kernels/nest.h;kernels/ops.h;kernels/rowwise.h;kernels/row_phases.h;kernels/fused.h;impl/device/buffer.h;impl/device/device.h;impl/tensor/mesh.h;impl/tensor/placement.h;impl/tensor/tensor.h;impl/comm/call.h;impl/comm/communicator.h;impl/comm/threads.h;impl/program.h;impl/run/plan.h;impl/compile/compile_plan.h;impl/file_error.h;impl/checkpoint/checkpoint.h;impl/interchange/mapping.h;impl/interchange/interchange.h;impl/data/batches.h;impl/data/tokens.h;impl/data/loader.h;impl/data/corpus.h;impl/data/tokenizer.h;impl/data/byte_pairs.h;impl/train_step/roles.h;impl/train_step/on_gpu.h;impl/trainer/trainer.h;impl/trainer/learning_rate.h;impl/trainer/sample.h"
  impl_interchange)
if(TARGET impl_comm_mpi)
  shardproof_install(mpi impl_comm_mpi "impl/comm/mpi/mpi_communicator.h;impl/comm/mpi/mpi_store.h;impl/comm/store/store.h" install_shardproof)
endif()
if(TARGET impl_comm_nccl)
  if(TARGET impl_device_cudnn)
    set(attention_library "impl_device_cudnn;")
  endif()
  shardproof_install(cuda "kernels_cuda;kernels_generate;${attention_library}impl_device_cuda;impl_comm_virtual;impl_comm_nccl"
    "impl/device/cuda/cuda_device.h;impl/comm/virtual/virtual_ranks.h;impl/comm/nccl/nccl_communicator.h;impl/comm/store/store.h"
    install_shardproof impl_comm_virtual)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/shardproof-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ci/shardproof-config.cmake ${PROJECT_BINARY_DIR}/shardproof-config-version.cmake
        DESTINATION ${shardproof_config} COMPONENT shardproof)
