// The fields of a policy file, listed once: what reads, writes or lists them is a FieldVisitor.
//
// Owner of a visitor: one call of VisitPolicy, on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/units.hpp"
#include "config/policy_file.hpp"

namespace muster::config {

inline constexpr std::string_view kPolicyApiVersion = "muster.dev/v1alpha1";
inline constexpr std::string_view kPolicyKind = "Policy";

struct FieldInfo {
  std::string_view name;  // as in the file
  std::string_view help;  // for config/policy.yaml; lines separated by '\n'
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
};
// The words of an enumeration, in the order of its enumerators.
using Words = std::vector<std::string_view>;

class FieldVisitor {
 public:
  FieldVisitor() = default;
  virtual ~FieldVisitor() = default;
  FieldVisitor(const FieldVisitor&) = delete;
  FieldVisitor& operator=(const FieldVisitor&) = delete;

  // `fields` visits what is inside.
  virtual void Section(const FieldInfo& info, const std::function<void()>& fields) = 0;
  virtual void Duration(const FieldInfo& info, DurationRange range, cluster::Duration* value) = 0;
  virtual void Whole(const FieldInfo& info, WholeRange range, int64_t* value) = 0;
  virtual void Size(const FieldInfo& info, WholeRange range, int64_t* bytes) = 0;
  virtual void Flag(const FieldInfo& info, bool* value) = 0;
  virtual void Text(const FieldInfo& info, const TextRule& rule, std::string* value) = 0;
  // Each text at most once.
  virtual void TextList(const FieldInfo& info, const TextRule& rule,
                        std::vector<std::string>* values) = 0;
  virtual void Choice(const FieldInfo& info, const Words& words, std::size_t* chosen) = 0;
  // A field that older files have and that does nothing any more, for the reason in `info.help`:
  // whoever reads a file that has it says so in `notes`, everybody else passes over it.
  virtual void Retired(const FieldInfo& /*info*/, std::vector<std::string>* /*notes*/) {}
};

// Visits every field of `policy`, in the order of the file.
void VisitPolicy(Policy* policy, FieldVisitor* visitor);

// "gangs.backoff.first", …: every field and section, in the order of the file.
std::vector<std::string> ListPolicyFields();

// What is wrong between fields that are each right: the field to change and what is expected of it.
struct Contradiction {
  std::string field;
  std::string message;
};
std::vector<Contradiction> FindContradictions(const Policy& policy);

}  // namespace muster::config
