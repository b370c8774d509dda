# The kernels of kernels/cuda, twice from the same files: kernels_emulated by the C++ compiler, and kernels_cuda by
# nvcc where it is found.
file(GLOB cuda_kernels CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} kernels/cuda/*.cu kernels/cuda/fused/*.cu)
set(emulated "")
foreach(source IN LISTS cuda_kernels)  # a .cu has one language in a project, so C++ takes it in by an #include
  string(REPLACE "/" "_" name ${source})
  file(CONFIGURE OUTPUT emulated/${name}.cpp CONTENT "#include \"${source}\"\n")
  list(APPEND emulated ${PROJECT_BINARY_DIR}/emulated/${name}.cpp)
endforeach()
add_library(kernels_emulated STATIC ${emulated} kernels/cuda/fused/walked_rows.cpp)
target_compile_definitions(kernels_emulated PRIVATE SHARDPROOF_EMULATED)
target_include_directories(kernels_emulated PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)

# Kernels that are written and compiled when a plan is made, and the headers that they include.
set(kernel_headers kernels/bf16.h kernels/element.h kernels/fault.h kernels/machine.h kernels/philox.h)
shardproof_embed(generated_headers embedded_kernel_headers kernels/cuda/headers.h "${kernel_headers}")
shardproof_embed(generated_headers embedded_table kernels/cuda/headers.h spec/ir/pointwise.def)
set(kernel_headers stream.h report.h entry.h pointwise_fns.h block.h row_operands.h)
list(TRANSFORM kernel_headers PREPEND kernels/cuda/)
shardproof_embed(generated_headers embedded_cuda_headers kernels/cuda/headers.h "${kernel_headers}")
set(kernel_headers entries.h row.h row_kernel.h team.h)
list(TRANSFORM kernel_headers PREPEND kernels/cuda/fused/)
shardproof_embed(generated_headers embedded_fused_headers kernels/cuda/headers.h "${kernel_headers}")
add_library(kernels_generate STATIC kernels/cuda/generate.cpp kernels/cuda/generate_rows.cpp kernels/cuda/step_text.cpp
  kernels/cuda/nvrtc.cpp ${generated_headers})
target_include_directories(kernels_generate PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_link_libraries(kernels_generate PRIVATE ${CMAKE_DL_LIBS})

if(SHARDPROOF_CUDA)
  find_program(SHARDPROOF_NVCC nvcc PATHS /usr/local/cuda/bin)
  if(SHARDPROOF_CUDA STREQUAL "ON" AND NOT SHARDPROOF_NVCC)
    message(FATAL_ERROR "SHARDPROOF_CUDA is ON, and nvcc is not found")
  endif()
endif()
if(SHARDPROOF_CUDA AND SHARDPROOF_NVCC)
  set(CMAKE_CUDA_COMPILER ${SHARDPROOF_NVCC})
  set(CMAKE_CUDA_ARCHITECTURES ${SHARDPROOF_CUDA_ARCHITECTURES})
  set(CMAKE_CUDA_FLAGS_RELEASE "-O3")
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  if(CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
  endif()
  add_library(kernels_cuda STATIC ${cuda_kernels})
  # By a flag: CMake 3.25 does not know that CUDA has C++20, and takes C++'s standard for CUDA's where it has none.
  set_property(TARGET kernels_cuda PROPERTY CXX_STANDARD)
  set_property(TARGET kernels_cuda PROPERTY CUDA_EXTENSIONS ON)  # else it would set its own default
  target_compile_options(kernels_cuda PRIVATE -std=c++20 --expt-relaxed-constexpr --Werror all-warnings
    -Xcompiler=-Wall,-Wextra,-Wno-unknown-pragmas)
  # The ops of a chain are rounded one by one, as they are on the CPU.
  set_source_files_properties(kernels/cuda/pointwise.cu PROPERTIES COMPILE_OPTIONS --fmad=false)
  target_include_directories(kernels_cuda PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(kernels_cuda PUBLIC CUDA::cudart_static)
endif()
