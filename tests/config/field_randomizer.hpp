// Fills every field of a table with a random value that the file may have.
#pragma once

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "config/fields/fields.hpp"

namespace muster::config::testing {

class FieldRandomizer : public FieldVisitor {
 public:
  explicit FieldRandomizer(uint64_t seed) : random_(seed) {}

  void Section(const FieldInfo&, const std::function<void()>& fields) override { fields(); }
  void List(const FieldInfo&, Elements* items) override {
    items->Clear();
    AddSome([&](int64_t i) { items->Add("[" + std::to_string(i) + "]", this); });
  }
  void Named(const TextRule& names, Elements* entries) override {
    entries->Clear();
    AddSome([&](int64_t) { entries->Add(AcceptedBy(names), this); });
  }
  void Duration(const FieldInfo&, DurationRange range, cluster::Duration* value) override {
    *value = cluster::Duration(Between(range.least.value(), range.most.value()));
  }
  void Whole(const FieldInfo&, WholeRange range, int64_t* value) override {
    *value = Between(range.least, range.most);
  }
  void Size(const FieldInfo& info, WholeRange range, int64_t* bytes) override {
    Whole(info, range, bytes);
  }
  void Flag(const FieldInfo&, bool* value) override { *value = Between(0, 1) == 1; }
  void Text(const FieldInfo&, const TextRule& rule, std::string* value) override {
    *value = AcceptedBy(rule);
  }
  void TextList(const FieldInfo&, const TextRule& rule, std::vector<std::string>* values) override {
    values->clear();
    for (int64_t left = Between(0, 3); left > 0; --left) {
      std::string text = AcceptedBy(rule);
      if (std::find(values->begin(), values->end(), text) == values->end()) values->push_back(text);
    }
  }
  void Amount(const FieldInfo&, const AmountRule& rule, int64_t* value) override {
    while (!rule.parse(rule.format(*value = Between(0, 1'000)))) {
    }
  }
  void Choice(const FieldInfo&, const Words& words, std::size_t* chosen) override {
    *chosen = static_cast<std::size_t>(Between(0, static_cast<int64_t>(words.size()) - 1));
  }

 private:
  int64_t Between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  // Three levels deep at most.
  template <typename Add>
  void AddSome(Add add) {
    if (depth_ == 3) return;
    ++depth_;
    const int64_t count = Between(0, 2);
    for (int64_t i = 0; i < count; ++i) add(i);
    --depth_;
  }
  std::string AcceptedBy(const TextRule& rule) {
    constexpr const char* kPieces[] = {
        "a",     "-",      "0",        ":",   ".",   "\"",      "\\",
        "'",     " ",      "#",        "é",   "012", "true",    "null",
        ":80",   "/",      ": ",       " #",  "1e3", "[",       "{",
        "*",     "&",      "!",        "%",   "yes", "<<",      "gpu",
        "cpu",   "memory", "gpu/h100", "Foo", "v1",  "owner.a", "owner.a is b",
        "gangs", "policy"};
    while (true) {
      std::string text;
      for (int64_t left = Between(1, 4); left > 0; --left) {
        text += kPieces[Between(0, std::size(kPieces) - 1)];
      }
      if (rule.accepts(text)) return rule.canonical == nullptr ? text : rule.canonical(text);
    }
  }

  std::mt19937_64 random_;
  int depth_ = 0;
};

}  // namespace muster::config::testing
