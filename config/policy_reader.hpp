// PolicyReader: fills a Policy from a YAML tree and remembers the first error in the order of the
// file.
//
// Owner: LoadPolicy, for one file, on one thread. Internal to config/.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/policy_fields.hpp"
#include "config/yaml_tree.hpp"

namespace muster::config {

class PolicyReader : public FieldVisitor {
 public:
  PolicyReader(const YamlNode& root, const std::string& file_name);

  // Reads everything; the policy, or the error.
  cluster::Result<Policy> Read();

  void Section(const FieldInfo& info, const std::function<void()>& fields) override;
  void Duration(const FieldInfo& info, DurationRange range, cluster::Duration* value) override;
  void Whole(const FieldInfo& info, WholeRange range, int64_t* value) override;
  void Size(const FieldInfo& info, WholeRange range, int64_t* bytes) override;
  void Flag(const FieldInfo& info, bool* value) override;
  void Text(const FieldInfo& info, const TextRule& rule, std::string* value) override;
  void TextList(const FieldInfo& info, const TextRule& rule,
                std::vector<std::string>* values) override;
  void Choice(const FieldInfo& info, const Words& words, std::size_t* chosen) override;
  void Retired(const FieldInfo& info, std::vector<std::string>* notes) override;

 private:
  // A section that is being read.
  struct Scope {
    const YamlNode* map = nullptr;  // null: the file does not have it
    std::string prefix;             // "gangs." or empty at the top
    std::vector<std::string> known;
  };

  // The value of a field, null when the file does not have it.
  const YamlNode* Take(const FieldInfo& info);
  std::string PathOf(const FieldInfo& info) const {
    return scopes_.back().prefix + std::string(info.name);
  }
  void ReadHead();
  // The words of plain or quoted text that cannot be meant as anything else; nothing, and an error,
  // for numbers and the like.
  const std::string* TextOf(const std::string& path, std::string_view expected,
                            const YamlNode& node);
  void RefuseUnknownKeys();
  std::string Advice(const std::string& key) const;
  void CheckContradictions(const Policy& policy);
  void Expected(const std::string& path, const std::string& expected, const YamlNode& found);
  void Refuse(const std::string& path, Mark mark, std::string message);

  const YamlNode& root_;
  const std::string& file_name_;
  std::vector<Scope> scopes_;
  std::map<std::string, Mark> marks_;  // of the fields and sections that the file has
  std::optional<Mark> error_mark_;
  cluster::Error error_;
};

}  // namespace muster::config
