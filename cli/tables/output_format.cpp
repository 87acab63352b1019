#include "cli/tables/output_format.hpp"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <utility>

#include "config/yaml/yaml_scalar.hpp"

namespace muster::cli {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using Value = rapidjson::Value;

constexpr std::array<std::pair<std::string_view, OutputFormat>, 4> kFormats = {
    {{"table", OutputFormat::kTable},
     {"wide", OutputFormat::kWide},
     {"json", OutputFormat::kJson},
     {"yaml", OutputFormat::kYaml}}};

std::string JsonOf(const Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

// Read back as this text without quotes.
bool IsPlainText(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '/';
  };
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), plain) &&
         config::ResolvePlain(text).type == config::ScalarType::kText;
}

// A JSON string is a YAML one in double quotes.
std::string ScalarOf(const Value& value) {
  const bool bare = value.IsString() && IsPlainText({value.GetString(), value.GetStringLength()});
  return bare ? std::string(value.GetString(), value.GetStringLength()) : JsonOf(value);
}

bool IsNested(const Value& value) {
  return (value.IsObject() && !value.ObjectEmpty()) || (value.IsArray() && !value.Empty());
}

// Lines at `indent`; the first of them goes on where `out` ends when that is after "- ".
void Write(const Value& value, std::size_t indent, std::string& out) {
  const auto begin_line = [&] {
    if (!out.empty() && out.back() == '\n') out.append(indent, ' ');
  };
  if (value.IsArray()) {
    for (const Value& item : value.GetArray()) {
      begin_line();
      out += "- ";
      if (IsNested(item)) {
        Write(item, indent + 2, out);
      } else {
        out += ScalarOf(item) + "\n";
      }
    }
    return;
  }
  for (const auto& member : value.GetObject()) {
    begin_line();
    out += ScalarOf(member.name) + ":";
    if (IsNested(member.value)) {
      out += "\n";
      Write(member.value, indent + (member.value.IsObject() ? 2 : 0), out);
    } else {
      out += " " + ScalarOf(member.value) + "\n";
    }
  }
}

}  // namespace

Flag OutputFlag() {
  return {
      "--output", "FORMAT",
      "table (default; long texts cut to the terminal's width), wide (nothing cut), json or yaml",
      "-o"};
}

Result<OutputFormat> FormatOf(const Args& args) {
  const std::string word = args.Text("--output", "table");
  for (const auto& [name, format] : kFormats) {
    if (word == name) return format;
  }
  return Error{Code::kInvalidArgument,
               "--output must be table, wide, json or yaml, not \"" + word + "\"", ""};
}

std::string InFormat(OutputFormat format, std::string_view json) {
  return format == OutputFormat::kYaml ? YamlOf(json) : std::string(json);
}

std::string YamlOf(std::string_view json) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError()) return std::string(json);
  if (!IsNested(document)) return JsonOf(document) + "\n";
  std::string out;
  Write(document, 0, out);
  return out;
}

}  // namespace muster::cli
