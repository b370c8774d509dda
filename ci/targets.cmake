# The functions that the CMakeLists.txt of the folders call.

# shardproof_embed(<variable> <function> <header> <glob> [suffix to strip from the names]): appends to <variable> a
# generated source that defines <function>() of <header>, the matching files as (name, text).
function(shardproof_embed variable function header glob)
  file(GLOB files CONFIGURE_DEPENDS ${glob})
  set(output ${PROJECT_BINARY_DIR}/generated/${function}.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DHEADER=${header} -DFUNCTION=${function} -DSTRIP=${ARGN}
            "-DFILES=${files}" -P ${PROJECT_SOURCE_DIR}/ci/embed.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/ci/embed.cmake
    COMMENT "Embedding ${glob}" VERBATIM)
  set(${variable} ${${variable}} ${output} PARENT_SCOPE)
endfunction()

# Where sanitized programs spend their time.
set(optimized_when_sanitized spec/ir spec/algebra spec/lower spec/denote spec/check spec/prove oracle impl/plan impl/run)

# shardproof_folder(<folder> [DEPENDS <folders>] [INCLUDES <folders, headers>] [NEVER <folders>]), on one line: a static
# library of the folder's sources, which links those that it depends on. ci/layers reads INCLUDES and NEVER.
function(shardproof_folder folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS;INCLUDES;NEVER" ${ARGN})
  string(REPLACE "/" "_" target ${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  list(APPEND sources ${${target}_generated})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    if(SHARDPROOF_SANITIZE)
      if(folder IN_LIST optimized_when_sanitized)
        target_compile_options(${target} PRIVATE -O1)
      endif()
    elseif(folder MATCHES "^spec/|^impl/(check_sharding|compile|interchange)$")
      target_compile_options(${target} PRIVATE -O1)  # -O2 takes a fifth more time to build check-sharding, and proves 3 % faster
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 24)  # of 8, the default: a sixth more time
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>)
  foreach(dependency ${ARG_DEPENDS})
    string(REPLACE "/" "_" dependency ${dependency})
    target_link_libraries(${target} ${scope} ${dependency})
  endforeach()
endfunction()

# shardproof_program(<target> <library> <glob>..): a program, once its source is there; the globs notice when it appears.
function(shardproof_program target library)
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  if(sources)
    add_executable(${target} ${sources})
    target_link_libraries(${target} ${library})
  endif()
endfunction()

# jemalloc in place of the C library's allocator, where it is found: a check makes many small objects. With it a check of
# spec/models/deepseek3.shard takes 0.78 of the processor time, and its runs 0.68.
find_library(SHARDPROOF_JEMALLOC NAMES jemalloc_pic jemalloc DOC "jemalloc; the checker uses malloc of the C library without it")
function(shardproof_allocator target)
  if(SHARDPROOF_JEMALLOC AND NOT SHARDPROOF_SANITIZE AND NOT SHARDPROOF_FUZZ)
    target_link_libraries(${target} ${SHARDPROOF_JEMALLOC} Threads::Threads ${CMAKE_DL_LIBS} m)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/ci/large_pages.cpp)
  endif()
endfunction()

# Every folder with tests is one program: <folder>/*_test.cc and *_law.cc. Some of them are compiled together: a file
# whose helpers are named as another's keeps them in a namespace with its own name.
function(shardproof_tests folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  if(NOT SHARDPROOF_TESTS)
    return()
  endif()
  string(REPLACE "/" "_" target ${folder}_tests)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*_test.cc ${folder}/*_law.cc)
  list(FILTER sources EXCLUDE REGEX "_gpu_(test|law)\\.cc$")
  if(SHARDPROOF_SANITIZE MATCHES "address")
    list(FILTER sources EXCLUDE REGEX "_law\\.cc$")  # RapidCheck is slow to compile sanitized, and to run
  endif()
  if(NOT sources)
    return()
  endif()
  add_executable(${target} ${sources})
  target_compile_definitions(${target} PRIVATE SHARDPROOF_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} ${ARG_DEPENDS} tested GTest::gtest_main)
  target_precompile_headers(${target} REUSE_FROM tested)
  shardproof_allocator(${target})
  set(shards 1)
  if(folder STREQUAL "properties/laws")
    set(shards 5)  # the longest: its laws take turns with the other suites
  endif()
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${target}_${shard} COMMAND ${target})
    set_tests_properties(${target}_${shard} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index};RC_PARAMS=seed=20" COST ${shards})
  endforeach()
endfunction()

# What needs a GPU: <folder>/*_gpu_test.cc and *_gpu_law.cc are one program, for ci/gpu-test, which takes it to a
# machine that has little but a GPU.
function(shardproof_gpu_tests folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  if(NOT SHARDPROOF_TESTS)
    return()
  endif()
  string(REPLACE "/" "_" target ${folder}_gpu_tests)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*_gpu_test.cc ${folder}/*_gpu_law.cc)
  if(NOT sources OR NOT TARGET impl_device_cuda)
    return()
  endif()
  add_executable(${target} properties/gpu/main.cpp ${sources})
  target_compile_definitions(${target} PRIVATE SHARDPROOF_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} ${ARG_DEPENDS} impl_device_cuda tested)
  target_precompile_headers(${target} REUSE_FROM tested)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
endfunction()

# shardproof_headers(<folder> [INCLUDES ..]): a folder without a library of its own, for ci/layers.
function(shardproof_headers folder)
endfunction()
