// Tables of fields: how a module says what its section of a file holds. What reads, writes or lists
// a table is a FieldVisitor.
//
//   void VisitQueue(Queue* queue, FieldVisitor* visitor) {
//     visitor->Text({"name", "What PodGroups call it."}, kQueueName, &queue->name);
//     SectionList(visitor, {"children", "Queues below it."}, &queue->children, VisitQueue);
//   }
//
// The value before the visit is the default. A default that the field itself does not allow says
// that the field must be given wherever its section is. Tables may hold themselves, by way of a
// list or of free names.
//
// A visitor is for one visit of a table, on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "cluster/base/units.hpp"
#include "config/fields/contradiction.hpp"

namespace muster::config {

// Of one file so many faults are named; one more counts the others.
inline constexpr std::size_t kMostFaults = 100;

struct FieldInfo {
  std::string_view name;  // as in the file
  std::string_view help;  // for the commented file; lines separated by '\n'
};

struct DurationRange {
  cluster::Duration least;
  cluster::Duration most;
};
struct WholeRange {
  int64_t least;
  int64_t most;
};
struct TextRule {
  std::string_view expected;  // "a Kubernetes namespace"
  bool (*accepts)(std::string_view text);
  // What is wrong with a text that is not accepted, where more can be said; null: nothing.
  std::string (*wrong)(std::string_view text) = nullptr;
  bool numbers = false;  // a number without quotes is taken as it is written
  // Of an accepted text: how it is written here; null: as it is.
  std::string (*canonical)(std::string_view text) = nullptr;
};
// An amount with a way to write it of its own.
struct AmountRule {
  std::string_view expected;  // "a whole number or one with a point"
  std::optional<int64_t> (*parse)(std::string_view text);
  std::string (*format)(int64_t value);
};
// The words of an enumeration, in the order of its enumerators.
using Words = std::vector<std::string_view>;
// What other systems call a field or a word, and what it is called here; or, where nothing here is
// the same, the answer to those who write it.
struct OtherName {
  std::string_view theirs;
  std::string_view ours;
  std::string_view answer = {};
};

class FieldVisitor;

// The elements of a list or the free names of a section, whatever their type. Each is visited as
// one field: "[2]" in a list, its own name in a section. Owner: the table, for one visit.
class Elements {
 public:
  Elements() = default;
  virtual ~Elements() = default;
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  virtual const std::type_info& type() const = 0;  // of one element
  virtual bool empty() const = 0;
  virtual void Clear() = 0;
  // Adds an element with its defaults, last in a list, and visits it.
  virtual void Add(const std::string& name, FieldVisitor* visitor) = 0;
  virtual void VisitAll(FieldVisitor* visitor) = 0;
  // An element with its defaults that is kept nowhere.
  virtual void VisitSample(const std::string& name, FieldVisitor* visitor) = 0;
};

class FieldVisitor {
 public:
  FieldVisitor() = default;
  virtual ~FieldVisitor() = default;
  FieldVisitor(const FieldVisitor&) = delete;
  FieldVisitor& operator=(const FieldVisitor&) = delete;

  // `fields` visits what is inside.
  virtual void Section(const FieldInfo& info, const std::function<void()>& fields) = 0;
  virtual void List(const FieldInfo& info, Elements* items) = 0;
  // In a section, after its fields: every other key that `names` accepts. Empty by default.
  virtual void Named(const TextRule& names, Elements* entries) = 0;
  virtual void Duration(const FieldInfo& info, DurationRange range, cluster::Duration* value) = 0;
  virtual void Whole(const FieldInfo& info, WholeRange range, int64_t* value) = 0;
  virtual void Size(const FieldInfo& info, WholeRange range, int64_t* bytes) = 0;
  virtual void Flag(const FieldInfo& info, bool* value) = 0;
  virtual void Text(const FieldInfo& info, const TextRule& rule, std::string* value) = 0;
  // Each text at most once.
  virtual void TextList(const FieldInfo& info, const TextRule& rule,
                        std::vector<std::string>* values) = 0;
  virtual void Choice(const FieldInfo& info, const Words& words, std::size_t* chosen) = 0;
  // A field of older files that has no effect any more, for the reason in `info.help`: a reader of
  // a file that has it says so in `notes`, all others ignore it.
  virtual void Retired(const FieldInfo& /*info*/, std::vector<std::string>* /*notes*/) {}
  virtual void Amount(const FieldInfo& /*info*/, const AmountRule& /*rule*/, int64_t* /*value*/) {}

  // What a file may say in other systems' words. A reader takes it for ours and says so in `notes`;
  // nobody writes it.
  // In this section the next fields, and words of theirs, have these names too.
  virtual void OtherNames(const std::vector<OtherName>& /*names*/,
                          std::vector<std::string>* /*notes*/) {}
  // A section of its own; `info.help` says what it means in our words.
  virtual void OtherSection(const FieldInfo& /*info*/, const std::function<void()>& /*fields*/,
                            std::vector<std::string>* /*notes*/) {}
  // A field of its own, likewise.
  virtual void OtherAmount(const FieldInfo& /*info*/, const AmountRule& /*rule*/,
                           int64_t* /*value*/, std::vector<std::string>* /*notes*/) {}
  // A field that was visited has a value for which there is a better word: `info.help` says it.
  virtual void Remark(const FieldInfo& /*info*/, std::vector<std::string>* /*notes*/) {}
};

// A Choice whose words are those of E's enumerators, in their order.
template <typename E>
void Enumeration(FieldVisitor* visitor, const FieldInfo& info, const Words& words, E* value) {
  auto chosen = static_cast<std::size_t>(*value);
  visitor->Choice(info, words, &chosen);
  *value = static_cast<E>(chosen);
}

// A field that says what the file is: one word that must be there.
inline void VisitHead(FieldVisitor* visitor, std::string_view name, std::string_view word) {
  const Words words = {word};
  std::size_t chosen = words.size();
  visitor->Choice({name, ""}, words, &chosen);
}

using FieldTable = std::function<void(FieldVisitor*)>;

}  // namespace muster::config
