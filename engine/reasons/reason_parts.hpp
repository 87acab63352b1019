// What comes with a Reason (internal to engine/reasons/reason.hpp): shared by all whose reason it
// is, so that many gangs that wait for the same cost little. Plain values, any thread.
#pragma once

#include <compare>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/placing/placement.hpp"

namespace muster::engine {

// Text whose copies share it, for many gangs have the same. Equal where the texts are.
class SharedText {
 public:
  SharedText() = default;
  explicit SharedText(std::string text)
      : text_(std::make_shared<const std::string>(std::move(text))) {}
  std::string_view view() const { return text_ == nullptr ? std::string_view() : *text_; }
  bool empty() const { return view().empty(); }
  bool operator==(const SharedText& other) const { return view() == other.view(); }
  auto operator<=>(const SharedText& other) const { return view() <=> other.view(); }

 private:
  std::shared_ptr<const std::string> text_;
};

// What counts were made of, for those who want data in place of a sentence. It says nothing that
// the sentence does not, so all are equal.
class SharedShortage {
 public:
  SharedShortage() = default;
  explicit SharedShortage(policy::Shortage shortage)
      : shortage_(std::make_shared<const policy::Shortage>(std::move(shortage))) {}
  const policy::Shortage* get() const { return shortage_.get(); }
  bool operator==(const SharedShortage& /*other*/) const { return true; }
  std::strong_ordering operator<=>(const SharedShortage& /*other*/) const {
    return std::strong_ordering::equal;
  }

 private:
  std::shared_ptr<const policy::Shortage> shortage_;
};

// Sentences for people that come with a reason and are not part of it, so all are equal.
class SharedWords {
 public:
  SharedWords() = default;
  explicit SharedWords(std::vector<std::string> words)
      : words_(std::make_shared<const std::vector<std::string>>(std::move(words))) {}
  std::vector<std::string> words() const {
    return words_ == nullptr ? std::vector<std::string>() : *words_;
  }
  bool operator==(const SharedWords& /*other*/) const { return true; }
  std::strong_ordering operator<=>(const SharedWords& /*other*/) const {
    return std::strong_ordering::equal;
  }

 private:
  std::shared_ptr<const std::vector<std::string>> words_;
};

}  // namespace muster::engine
