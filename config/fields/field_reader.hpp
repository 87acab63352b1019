// FieldReader: fills the values of a table of fields from a YAML tree and collects all that is
// wrong with it.
//
// Owner: ReadFields, for one file, on one thread. Internal to config/.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "config/fields/fields.hpp"
#include "config/yaml/yaml_tree.hpp"

namespace muster::config {

class FieldReader : public FieldVisitor {
 public:
  // `fields` is asked for the words of the whole table, for advice.
  FieldReader(const std::string& file_name, const FieldTable& fields)
      : file_name_(file_name), fields_(fields) {}

  void Read(const YamlNode& root);
  void Refuse(const std::vector<Contradiction>& contradictions, std::vector<std::string>* notes);
  // In the order of the file: the first kMostFaults, and one that counts the others.
  std::vector<cluster::Error> Faults() const;
  bool ok() const { return faults_.empty(); }

  void Section(const FieldInfo& info, const std::function<void()>& fields) override;
  void List(const FieldInfo& info, Elements* items) override;
  void Named(const TextRule& names, Elements* entries) override;
  void Duration(const FieldInfo& info, DurationRange range, cluster::Duration* value) override;
  void Whole(const FieldInfo& info, WholeRange range, int64_t* value) override;
  void Size(const FieldInfo& info, WholeRange range, int64_t* bytes) override;
  void Flag(const FieldInfo& info, bool* value) override;
  void Text(const FieldInfo& info, const TextRule& rule, std::string* value) override;
  void TextList(const FieldInfo& info, const TextRule& rule,
                std::vector<std::string>* values) override;
  void Choice(const FieldInfo& info, const Words& words, std::size_t* chosen) override;
  void Retired(const FieldInfo& info, std::vector<std::string>* notes) override;
  void Amount(const FieldInfo& info, const AmountRule& rule, int64_t* value) override;
  void OtherNames(const std::vector<OtherName>& names, std::vector<std::string>* notes) override;
  void OtherSection(const FieldInfo& info, const std::function<void()>& fields,
                    std::vector<std::string>* notes) override;
  void OtherAmount(const FieldInfo& info, const AmountRule& rule, int64_t* value,
                   std::vector<std::string>* notes) override;
  void Remark(const FieldInfo& info, std::vector<std::string>* notes) override;

 private:
  // A section or a list that is being read.
  struct Scope {
    const YamlNode* node = nullptr;  // null: the file does not have it
    std::string prefix;              // "gangs.", "queues" of a list, or empty at the top
    std::vector<std::string> known;
    const YamlNode* element = nullptr;  // the value of the element that is visited next
    bool open = false;                  // takes keys beside its fields
    std::vector<OtherName> other_names = {};
    std::vector<std::string>* notes = nullptr;  // for them
  };

  // The value of a field, null when the file does not have it.
  const YamlNode* Take(const FieldInfo& info);
  // The same, but refuses it when its section is there and its default is not `allowed`.
  const YamlNode* TakeOrNeed(const FieldInfo& info, bool allowed, const std::string& expected);
  // As Take, for a field that has other names; `node`: the value under its own name, or null.
  const YamlNode* TakeOther(const FieldInfo& info, const YamlNode* node);
  void Note(const std::string& path, Mark mark, const std::string& text,
            std::vector<std::string>* notes) const;
  std::string PathOf(std::string_view name) const;
  // The words of plain or quoted text that cannot be meant as anything else; nothing, and a fault,
  // for numbers and the like.
  const std::string* TextOf(const std::string& path, const TextRule& rule, const YamlNode& node);
  bool Knows(const std::string& key) const;
  void RefuseOddKeys(const std::vector<YamlEntry>& entries);
  std::string_view AnswerTo(std::string_view word) const;  // OtherName::answer; empty: none
  std::string Advice(const std::string& key) const;
  void Expected(const std::string& path, const std::string& expected, const YamlNode& found);
  // Whether a fault there is one of the first; if not, it is counted.
  bool Admits(Mark mark);
  void Refuse(const std::string& path, Mark mark, const std::string& message);

  const std::string& file_name_;
  const FieldTable& fields_;
  std::vector<Scope> scopes_;
  std::map<std::string, Mark> marks_;  // of the fields, sections and elements that the file has
  std::multimap<Mark, cluster::Error> faults_;  // the first kMostFaults of the file
  int64_t more_ = 0;                            // faults that are not among them
};

}  // namespace muster::config
