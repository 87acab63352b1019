// JsonText: writes JSON for people (the API's pages, the report of a simulation), one call per
// member, by kube::JsonWriter. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/units.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::extender {

class JsonText {
 public:
  JsonText() = default;
  ~JsonText() = default;
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;

  void BeginObject();
  void BeginObject(std::string_view key);
  void EndObject();
  void BeginArray(std::string_view key);
  void EndArray();
  void Text(std::string_view text);
  void Number(int64_t number);
  void Add(std::string_view key, std::string_view text);
  void Add(std::string_view key, const char* text) { Add(key, std::string_view(text)); }
  void Add(std::string_view key, const std::string& text) { Add(key, std::string_view(text)); }
  void Add(std::string_view key, int64_t number);
  void Add(std::string_view key, int32_t number) { Add(key, static_cast<int64_t>(number)); }
  void Add(std::string_view key, bool value);
  void AddDecimal(std::string_view key, double value);
  void AddNull(std::string_view key);
  // Thousandths (of a second, of a GPU) as a decimal number.
  void AddMilli(std::string_view key, int64_t milli) {
    AddDecimal(key, static_cast<double>(milli) / 1000);
  }
  void AddSeconds(std::string_view key, cluster::Duration duration) {
    AddMilli(key, duration.value());
  }
  void AddNames(std::string_view key, const std::vector<std::string>& names);
  std::string Take();

 private:
  std::string out_;
  kube::JsonWriter json_{out_, kube::JsonWriter::Layout::kLines};
};

}  // namespace muster::extender
