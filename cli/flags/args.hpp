// Args: the words after a subcommand, read against a list of flags.
//
//   Result<Args> args = Args::Parse({{"--listen", "HOST:PORT", "…"}}, words);
//   args->Text("--listen", "127.0.0.1:8888");
//
// A negative number is no flag. A flag takes its value as the next word or after '=', one of a
// letter also attached ("-ojson"); "--" ends the flags; "-o json" and "--output json" are spellings
// of one flag when it lists both. Plain value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/result.hpp"

namespace muster::cli {

struct Flag {
  std::string name;        // "--listen"
  std::string value_name;  // as help shows it; empty: the flag takes no value
  std::string help;
  std::string short_name = {};  // "-f"; empty: none
  bool repeated = false;
};

class Args {
 public:
  // kInvalidArgument for an unknown flag, a missing or superfluous value, a flag given twice.
  static cluster::Result<Args> Parse(const std::vector<Flag>& flags,
                                     const std::vector<std::string>& words);

  bool Has(const std::string& flag) const { return values_.count(flag) != 0; }
  // The last value given, or `otherwise`.
  std::string Text(const std::string& flag, const std::string& otherwise = {}) const;
  std::vector<std::string> All(const std::string& flag) const;
  // A whole number from `least` to `most`.
  cluster::Result<int64_t> Number(const std::string& flag, int64_t otherwise, int64_t least,
                                  int64_t most) const;
  const std::vector<std::string>& positionals() const { return positionals_; }

 private:
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> positionals_;
};

// One aligned line per flag.
std::string DescribeFlags(const std::vector<Flag>& flags);

}  // namespace muster::cli
