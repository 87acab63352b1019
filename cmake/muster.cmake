# Helpers that every folder's CMakeLists.txt uses, so that flags and warnings are set in one place.

add_library(muster_flags INTERFACE)
target_include_directories(muster_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(muster_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Wimplicit-fallthrough)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(muster_flags INTERFACE -Wthread-safety)
endif()
if(MUSTER_WERROR)
  target_compile_options(muster_flags INTERFACE -Werror)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms about std::string at -O3: https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651
  target_compile_options(muster_flags INTERFACE -Wno-restrict)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT MUSTER_SANITIZE)
  # What is shipped is hardened as Debian's packages are (dpkg-buildflags with hardening=+all, and what tells jumps from
  # attacks where the processor can); tests/hardening.sh looks at the program, bench/results/planning.md says what it costs.
  target_compile_options(muster_flags INTERFACE -fPIE -fstack-protector-strong -fstack-clash-protection
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  target_link_options(muster_flags INTERFACE -pie -Wl,-z,relro -Wl,-z,now)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(muster_flags INTERFACE -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    target_compile_options(muster_flags INTERFACE -mbranch-protection=standard)
  endif()
endif()
if(MUSTER_SANITIZE)
  target_compile_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Relative to where the compiler runs, so that a compiler cache serves every clone.
    file(RELATIVE_PATH ignorelist ${CMAKE_BINARY_DIR} ${CMAKE_CURRENT_LIST_DIR}/sanitizer_ignorelist.txt)
    target_compile_options(muster_flags INTERFACE -fsanitize-ignorelist=${ignorelist})
    # These two make unoptimised code much slower. An access through null ASan reports as well; a misaligned one goes
    # unseen here, where all processors allow it.
    target_compile_options(muster_flags INTERFACE -fno-sanitize=null,alignment)
  endif()
endif()
target_link_libraries(muster_flags INTERFACE Threads::Threads)

# muster_library(NAME SOURCES a.cpp … [USES other …] [THIRD_PARTY target …])
# One static library per folder. USES are Muster's own folders; THIRD_PARTY stays private to the sources.
function(muster_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;THIRD_PARTY" ${ARGN})
  list(TRANSFORM ARG_USES PREPEND muster_)
  if(ARG_SOURCES)
    add_library(muster_${name} STATIC ${ARG_SOURCES})
    # Large batches: half of what a small one costs is headers. For a quick rebuild of single sources configure with
    # -DCMAKE_UNITY_BUILD=OFF.
    set_target_properties(muster_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 18)
    target_link_libraries(muster_${name} PUBLIC muster_flags ${ARG_USES} PRIVATE ${ARG_THIRD_PARTY})
  else()
    add_library(muster_${name} INTERFACE)
    target_link_libraries(muster_${name} INTERFACE muster_flags ${ARG_USES})
  endif()
endfunction()

# muster_test(NAME SOURCES a_test.cpp … [USES folder …] [THIRD_PARTY target …])
# A Catch2 program of its own, registered with CTest in random order.
function(muster_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;THIRD_PARTY" ${ARGN})
  list(TRANSFORM ARG_USES PREPEND muster_)
  add_executable(${name}_test ${ARG_SOURCES})
  target_link_libraries(${name}_test PRIVATE muster_flags ${ARG_USES} ${ARG_THIRD_PARTY} Catch2::Catch2WithMain)
  target_compile_definitions(${name}_test PRIVATE MUSTER_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/run_catch2.sh $<TARGET_FILE:${name}_test>
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

# muster_fuzz(NAME SOURCES fuzz_x.cpp [USES folder …]): a libFuzzer program, built when MUSTER_FUZZ is on.
function(muster_fuzz name)
  if(NOT MUSTER_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;THIRD_PARTY" ${ARGN})
  list(TRANSFORM ARG_USES PREPEND muster_)
  add_executable(fuzz_${name} ${ARG_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE muster_flags ${ARG_USES} ${ARG_THIRD_PARTY} -fsanitize=fuzzer)
endfunction()
