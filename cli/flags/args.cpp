#include "cli/flags/args.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "cli/flags/nearest.hpp"

namespace muster::cli {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;

Error Usage(std::string message) { return Error{Code::kInvalidArgument, std::move(message), ""}; }

const Flag* FindFlag(const std::vector<Flag>& flags, const std::string& name) {
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) {
    return flag.name == name || (!flag.short_name.empty() && flag.short_name == name);
  });
  return found == flags.end() ? nullptr : &*found;
}

std::vector<std::string> NamesOf(const std::vector<Flag>& flags) {
  std::vector<std::string> names;
  names.reserve(flags.size());
  for (const Flag& flag : flags) names.push_back(flag.name);
  return names;
}

// "-nteam": the flag, with what is attached to its letter as its value.
struct Attached {
  const Flag* flag = nullptr;  // null: it is none
  std::string value;
};

Attached FindAttached(const std::vector<Flag>& flags, const std::string& word) {
  // "-namespace" is a slip for "--namespace", not one for "-n amespace".
  const bool slip = FindFlag(flags, "-" + word.substr(0, word.find('='))) != nullptr;
  if (word[1] == '-' || slip) return {};
  const Flag* flag = FindFlag(flags, word.substr(0, 2));
  if (flag == nullptr || flag->value_name.empty()) return {};
  return {flag, word.substr(2)};
}

std::optional<int64_t> ParseInteger(const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

}  // namespace

Result<Args> Args::Parse(const std::vector<Flag>& flags, const std::vector<std::string>& words) {
  Args args;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      args.positionals_.insert(args.positionals_.end(),
                               words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    // "-5" is a number; no flag is.
    const bool number = word.find_first_not_of("0123456789", 1) == std::string::npos;
    if (word.size() < 2 || word[0] != '-' || number) {
      args.positionals_.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    const Flag* flag = FindFlag(flags, name);
    Attached attached;
    if (flag == nullptr) attached = FindAttached(flags, word);
    if (attached.flag != nullptr) {
      flag = attached.flag;
      name = flag->short_name;
    }
    if (flag == nullptr) return Usage("unknown flag " + name + DidYouMean(name, NamesOf(flags)));
    std::string value;
    if (attached.flag != nullptr) {
      value = std::move(attached.value);
    } else if (flag->value_name.empty()) {
      if (equals != std::string::npos) return Usage(name + " takes no value");
    } else if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    } else {
      return Usage(std::string(name)
                       .append(" needs a value: ")
                       .append(name)
                       .append(" ")
                       .append(flag->value_name));
    }
    std::vector<std::string>& values = args.values_[flag->name];
    if (!values.empty() && !flag->repeated) return Usage(name + " is given twice");
    values.push_back(std::move(value));
  }
  return args;
}

std::string Args::Text(const std::string& flag, const std::string& otherwise) const {
  const auto found = values_.find(flag);
  return found == values_.end() ? otherwise : found->second.back();
}

std::vector<std::string> Args::All(const std::string& flag) const {
  const auto found = values_.find(flag);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

Result<int64_t> Args::Number(const std::string& flag, int64_t otherwise, int64_t least,
                             int64_t most) const {
  if (!Has(flag)) return otherwise;
  const std::optional<int64_t> value = ParseInteger(Text(flag));
  if (!value || *value < least || *value > most) {
    return Usage(flag + " must be a whole number from " + std::to_string(least) + " to " +
                 std::to_string(most) + ", not \"" + Text(flag) + "\"");
  }
  return *value;
}

std::string DescribeFlags(const std::vector<Flag>& flags) {
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const Flag& flag : flags) {
    std::string name = flag.short_name.empty() ? "" : flag.short_name + ", ";
    name += flag.name;
    if (!flag.value_name.empty()) name += " " + flag.value_name;
    width = std::max(width, name.size());
    names.push_back(std::move(name));
  }
  std::string out;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    out += "  " + names[i] + std::string(width - names[i].size() + 2, ' ') + flags[i].help + "\n";
  }
  return out;
}

}  // namespace muster::cli
