# Writes OUTPUT, a source file with the name and text of each of FILES (config/shipped_files.hpp). For cmake -P.
set(body "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(FIND "${text}" ")muster\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${file}: contains the end of a raw string literal")
  endif()
  string(APPEND body "    {\"${name}\", R\"muster(${text})muster\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from config/topologies/.
#include \"config/shipped_files.hpp\"

namespace muster::config {
namespace {

constexpr ShippedFile kTopologies[] = {
${body}};

}  // namespace

std::span<const ShippedFile> ShippedTopologies() { return kTopologies; }

}  // namespace muster::config
")
