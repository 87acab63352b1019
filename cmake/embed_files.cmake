# Writes OUTPUT, a source file with the name and text of each of FILES, which come from FOLDER, as what
# FUNCTION returns (config/shipped_files.hpp). For cmake -P.
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
file(WRITE ${OUTPUT} "// Generated from ${FOLDER}/.
#include \"config/shipped_files.hpp\"

namespace muster::config {
namespace {

constexpr ShippedFile k${FUNCTION}[] = {
${body}};

}  // namespace

std::span<const ShippedFile> ${FUNCTION}() { return k${FUNCTION}; }

}  // namespace muster::config
")
