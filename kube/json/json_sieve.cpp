#include "kube/json/json_sieve.hpp"

#include <algorithm>
#include <utility>

#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

// Room that is given back after an element that needed more.
constexpr size_t kUsualRoom = size_t{64} << 10;

// A key as a reader of the whole text would have it.
std::string Unescaped(const std::string& raw) {
  if (raw.find('\\') == std::string::npos) return raw;
  const Result<Json> json = Json::Parse('"' + raw + '"', 2 * kMaxKeptText, "key");
  if (!json.ok()) return {};
  JsonProblems problems;
  return std::string(JsonView(json->root(), "key", problems).Text());
}

bool Names(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

// Of the elements of a list; null: they are not kept.
const Kept* EachOf(const Kept& tree) {
  return tree.members.empty() || tree.members.back().name != "*" ? nullptr : &tree.members.back();
}

std::string Bytes(size_t count) { return std::to_string(count) + " bytes"; }

}  // namespace

const Kept* FindKept(std::span<const Kept> members, std::string_view name) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Kept& kept) { return Names(kept.name, name); });
  return found == members.end() ? nullptr : &*found;
}

JsonSieve::JsonSieve(const Options& options, Take take)
    : options_(options), take_(std::move(take)), scanner_(*this) {}

bool JsonSieve::Feed(std::string_view& bytes) { return scanner_.Feed(bytes); }

bool JsonSieve::End() { return scanner_.End(); }

const std::optional<Error>& JsonSieve::problem() const {
  return problem_ ? problem_ : scanner_.problem();
}

void JsonSieve::Reset() {
  scanner_.Reset();
  kept_.clear();
  frames_.clear();
  key_.clear();
  in_value_ = bounded_ = false;
  element_frames_.reset();
  left_out_.reset();
  problem_.reset();
}

size_t JsonSieve::held() const {
  return kept_.capacity() + key_.capacity() + frames_.capacity() * sizeof(Frame) +
         scanner_.depth() / 8;
}

bool JsonSieve::Open(bool object) {
  if (InMarkedList()) return MarkElement(scanner_.depth() - 1);
  using Kind = Kept::Kind;
  Kept kept = Expected();
  const bool tree = kept.kind == Kind::kTree;
  const bool members = kept.kind == Kind::kObject || (tree && !kept.members.empty());
  BeginValue(kept, members && object, scanner_.depth() - 1);
  const bool wanted = object ? members || kept.kind == Kind::kMap || kept.kind == Kind::kElement
                             : kept.kind == Kind::kList || kept.kind == Kind::kElements || tree ||
                                   kept.kind == Kind::kMark;
  if (!wanted) {
    if (!Append(object ? "{}" : "[]")) return !problem_;
    scanner_.SkipTo(scanner_.depth() - 1);
    return EndValue();
  }
  if (!Append(object ? "{" : "[")) return !problem_;
  if (kept.kind == Kind::kElement) {
    kept.kind = Kind::kObject;
    kept.members = options_.element;
  }
  if (tree && !object && EachOf(kept) == nullptr) kept.kind = Kind::kMark;
  frames_.push_back({kept, !object, false});
  return true;
}

bool JsonSieve::Close(bool object) {
  frames_.pop_back();
  if (!Append(object ? "}" : "]")) return !problem_;
  return EndValue();
}

bool JsonSieve::Piece(JsonScanner::Token token, std::string_view raw, bool last) {
  if (token == JsonScanner::Token::kKey) return KeyPiece(raw, last);
  if (InMarkedList()) return MarkElement(scanner_.depth());
  const bool text = token == JsonScanner::Token::kText;
  if (!in_value_) {
    const Kept kept = Expected();
    BeginValue(kept, false, scanner_.depth());
    if (text && !Append("\"")) return !problem_;
    in_value_ = true;
    mark_ = text && kept.kind == Kept::Kind::kMark;
    longest_ = kept.longest;
    value_begin_ = kept_.size();
  }
  if (mark_) raw = raw.empty() || kept_.size() > value_begin_ ? "" : "+";
  if (kept_.size() - value_begin_ + raw.size() > longest_) {
    return LeaveOut("holds a text of more than " + Bytes(longest_));
  }
  if (!Append(raw)) return !problem_;
  if (!last) return true;
  in_value_ = false;
  if (text && !Append("\"")) return !problem_;
  return EndValue();
}

bool JsonSieve::KeyPiece(std::string_view raw, bool last) {
  // One byte more than may be shows that it is too long.
  key_.append(raw.substr(0, kMaxKeptText + 1 - std::min(key_.size(), kMaxKeptText + 1)));
  if (!last) return true;
  const bool kept = MatchKey();
  key_.clear();
  return kept;
}

bool JsonSieve::InMarkedList() const {
  return !frames_.empty() && frames_.back().list && frames_.back().kept.kind == Kept::Kind::kMark;
}

bool JsonSieve::MarkElement(size_t depth) {
  frames_.pop_back();
  if (!Append("null]")) return !problem_;
  scanner_.SkipTo(depth - 1);
  return EndValue();
}

bool JsonSieve::MatchKey() {
  Frame& frame = frames_.back();
  if (frame.kept.kind == Kept::Kind::kMap) {
    next_ = {.longest = frame.kept.longest};
  } else {
    const std::string name = Unescaped(key_);
    const Kept* found = FindKept(frame.kept.members, name);
    const bool outermost = InElement() && frames_.size() == *element_frames_ + 1;
    if (found == nullptr && outermost) found = FindKept(options_.also, name);
    if (found == nullptr) {
      scanner_.SkipTo(scanner_.depth());
      return true;
    }
    next_ = *found;
  }
  if (key_.size() > kMaxKeptText)
    return LeaveOut("holds a name of more than " + Bytes(kMaxKeptText));
  const bool first = !std::exchange(frame.any, true);
  const bool appended = (first || Append(",")) && Append("\"") && Append(key_) && Append("\":");
  return appended || !problem_;
}

Kept JsonSieve::Expected() const {
  if (frames_.empty()) return options_.root;
  const Frame& frame = frames_.back();
  if (!frame.list) return next_;
  if (frame.kept.kind == Kept::Kind::kElements) return {.kind = Kept::Kind::kElement};
  if (frame.kept.kind == Kept::Kind::kTree) return *EachOf(frame.kept);
  Kept kept = frame.kept;
  kept.kind = kept.members.empty() ? Kept::Kind::kValue : Kept::Kind::kObject;
  return kept;
}

void JsonSieve::BeginValue(const Kept& kept, bool holds_members, size_t depth) {
  const bool item =
      !frames_.empty() && frames_.back().list && frames_.back().kept.kind != Kept::Kind::kElements;
  // A comma never is what goes beyond a bound: what follows it is checked.
  if (item && std::exchange(frames_.back().any, true)) kept_ += ',';
  if (kept.kind == Kept::Kind::kElement) {
    element_frames_ = frames_.size();
    element_begin_ = kept_.size();
    left_out_.reset();
  }
  if (!InElement() || bounded_) return;
  const size_t level = frames_.size() - *element_frames_;
  if (level == 0 || (level == 1 && holds_members)) return;
  bounded_ = true;
  member_ = kept.name;
  member_begin_ = kept_.size();
  member_frames_ = frames_.size();
  member_depth_ = depth;
}

bool JsonSieve::Append(std::string_view raw) {
  if (bounded_ && kept_.size() - member_begin_ + raw.size() > options_.largest_member) {
    LeaveOut("is larger than " + Bytes(options_.largest_member));
    return false;
  }
  if (kept_.size() + raw.size() > options_.most) {
    problem_ = Error{Code::kExhausted, "more than " + Bytes(options_.most) + " of it would be kept",
                     std::string(options_.name)};
    return false;
  }
  kept_ += raw;
  most_held_ = std::max(most_held_, held());
  return true;
}

// What is around members, or is an element and no object, cannot be left out.
bool JsonSieve::LeaveOut(std::string why) {
  Error error{Code::kExhausted, std::move(why), std::string(options_.name)};
  if (!bounded_) {
    problem_ = std::move(error);
    return false;
  }
  for (size_t i = *element_frames_ + 1; i < member_frames_; ++i) {
    error.place += "." + std::string(frames_[i].kept.name);
  }
  error.place += "." + std::string(member_);
  error.message += ", it is not read";
  if (!left_out_) left_out_ = std::move(error);
  kept_.resize(member_begin_);
  kept_ += "null";
  frames_.resize(member_frames_);
  in_value_ = bounded_ = false;
  scanner_.SkipTo(member_depth_);
  return true;
}

bool JsonSieve::EndValue() {
  if (bounded_ && frames_.size() == member_frames_) bounded_ = false;
  return !InElement() || frames_.size() != *element_frames_ || EndElement();
}

bool JsonSieve::EndElement() {
  const std::string_view text = std::string_view(kept_).substr(element_begin_);
  const bool more = take_(text, left_out_ ? &*left_out_ : nullptr);
  element_frames_.reset();
  kept_.resize(element_begin_);
  if (!frames_.empty() && !frames_.back().list) kept_ += "null";
  if (kept_.capacity() > kUsualRoom) kept_.shrink_to_fit();
  return more;
}

Result<Sifted> Sift(std::string_view text, std::span<const Kept> fields, std::string_view name) {
  Sifted sifted;
  const auto take = [&](std::string_view kept, const Error* left_out) {
    sifted.text = kept;
    if (left_out != nullptr) sifted.left_out = *left_out;
    return true;
  };
  JsonSieve sieve({.root = {.kind = Kept::Kind::kElement}, .element = fields, .name = name}, take);
  std::string_view rest = text;
  if (!sieve.Feed(rest) || !sieve.End()) return *sieve.problem();
  sifted.end = text.size() - rest.size();
  return sifted;
}

}  // namespace muster::kube
