#include "config/policies/grouping_text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/base/nearest_word.hpp"
#include "config/yaml/yaml_text.hpp"

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::GroupingAmount;
using cluster::GroupingCondition;
using cluster::GroupingPath;
using cluster::Result;

namespace {

using Kind = GroupingAmount::Kind;

struct RootWord {
  std::string_view word;
  GroupingPath::Root root;
};
constexpr RootWord kRoots[] = {{"owner", GroupingPath::Root::kOwner},
                               {"pod", GroupingPath::Root::kPod},
                               {"leader", GroupingPath::Root::kLeader},
                               {"item", GroupingPath::Root::kItem},
                               {"key", GroupingPath::Root::kKey}};

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}
bool IsPlainName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsNameChar);
}
// What may stand in brackets, and what a value may be compared with.
bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return IsNameChar(c) || c == '.' || c == '/' || c == ':';
  });
}

struct Token {
  std::string_view text;
  std::size_t at = 0;  // its first character, from 1
};

std::vector<Token> Split(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t begin = 0;
  const auto close = [&](std::size_t end) {
    if (end > begin) tokens.push_back({text.substr(begin, end - begin), begin + 1});
    begin = end + 1;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') close(i);
    if (c != '(' && c != ')' && c != ',') continue;
    close(i);
    tokens.push_back({text.substr(i, 1), i + 1});
  }
  close(text.size());
  return tokens;
}

// Reads one text, token by token. After the first fault nothing else counts.
class Parser {
 public:
  explicit Parser(std::string_view text) : end_(text.size() + 1), tokens_(Split(text)) {
    if (text.size() > kMostGroupingText) {
      Refuse("at most " + std::to_string(kMostGroupingText) + " characters");
    }
  }

  GroupingPath Path() {
    const Token token = Next();
    GroupingPath path;
    if (!ReadPath(token, &path)) path = {};
    return path;
  }

  GroupingAmount Amount() {
    GroupingAmount left = Product();
    while (Peek() == "+" || Peek() == "-") {
      const Kind kind = Next().text == "+" ? Kind::kSum : Kind::kMinus;
      left = Joined(kind, std::move(left), Product());
    }
    return left;
  }

  GroupingCondition Condition() {
    GroupingCondition condition;
    condition.left = Amount();
    if (Takes("equals")) {
      condition.kind = GroupingCondition::Kind::kEquals;
      condition.right = Amount();
      return condition;
    }
    if (!Takes("is")) {
      Refuse("\"is\" or \"equals\"");
      return condition;
    }
    if (Takes("above")) {
      condition.kind = GroupingCondition::Kind::kAbove;
      condition.right = Amount();
      return condition;
    }
    if (condition.left.kind != Kind::kPath) Refuse("a path alone before \"is\"");
    condition.path = std::exchange(condition.left, {}).path;
    ReadWords(&condition);
    return condition;
  }

  // The first fault, or that something is left over.
  std::optional<Error> Fault() {
    if (!fault_ && at_ < tokens_.size()) Refuse("nothing more");
    return fault_;
  }

 private:
  std::string_view Peek() const {
    return at_ < tokens_.size() && !fault_ ? tokens_[at_].text : std::string_view();
  }
  Token Next() {
    if (Peek().empty()) return {{}, end_};
    return tokens_[at_++];
  }
  bool Takes(std::string_view word) {
    if (Peek() != word) return false;
    ++at_;
    return true;
  }
  void Refuse(const std::string& expected) {
    RefuseAt(at_ < tokens_.size() ? tokens_[at_] : Token{{}, end_}, expected);
  }
  void RefuseAt(const Token& token, const std::string& expected) {
    if (fault_) return;
    fault_ = Error{Code::kInvalidArgument,
                   "expected " + expected + " at character " + std::to_string(token.at) +
                       ", found " + (token.text.empty() ? "the end" : Quoted(token.text)),
                   ""};
  }

  static GroupingAmount Joined(Kind kind, GroupingAmount left, GroupingAmount right) {
    GroupingAmount whole;
    whole.kind = kind;
    whole.parts.push_back(std::move(left));
    whole.parts.push_back(std::move(right));
    return whole;
  }

  GroupingAmount Product() {
    GroupingAmount left = Otherwise();
    while (Takes("*")) left = Joined(Kind::kTimes, std::move(left), Otherwise());
    return left;
  }

  GroupingAmount Otherwise() {
    GroupingAmount left = Primary();
    while (Takes("or")) left = Joined(Kind::kFirst, std::move(left), Primary());
    return left;
  }

  GroupingAmount Primary() {
    GroupingAmount amount;
    const Token token = Next();
    if (token.text == "(") {
      if (++depth_ > kMostParentheses) RefuseAt(token, "fewer parentheses in each other");
      amount = Amount();
      --depth_;
      if (!Takes(")")) Refuse("\")\"");
    } else if (token.text == "min" || token.text == "max") {
      amount = List(token.text == "min" ? Kind::kLeast : Kind::kMost);
    } else if (!token.text.empty() && token.text.front() >= '0' && token.text.front() <= '9') {
      amount.kind = Kind::kNumber;
      const char* const last = token.text.data() + token.text.size();
      const auto read = std::from_chars(token.text.data(), last, amount.number);
      const bool octal = token.text.size() > 1 && token.text.front() == '0';
      if (read.ec != std::errc() || read.ptr != last || octal ||
          amount.number > kMostGroupingNumber) {
        RefuseAt(token, "a whole number up to " + std::to_string(kMostGroupingNumber));
      }
    } else {
      amount.kind = Kind::kPath;
      ReadPath(token, &amount.path);
    }
    return amount;
  }

  GroupingAmount List(Kind kind) {
    GroupingAmount list;
    list.kind = kind;
    if (!Takes("(")) Refuse("\"(\"");
    if (++depth_ > kMostParentheses) Refuse("fewer parentheses in each other");
    do {
      list.parts.push_back(Amount());
    } while (Takes(","));
    --depth_;
    if (!Takes(")")) Refuse("\",\" or \")\"");
    return list;
  }

  void ReadWords(GroupingCondition* condition) {
    if (Takes("present")) {
      condition->kind = GroupingCondition::Kind::kPresent;
      return;
    }
    if (Takes("absent")) {
      condition->kind = GroupingCondition::Kind::kAbsent;
      return;
    }
    condition->kind = Takes("not") ? GroupingCondition::Kind::kIsNot : GroupingCondition::Kind::kIs;
    do {
      const Token token = Next();
      if (!IsWord(token.text)) RefuseAt(token, "present, absent, above, not or a word");
      condition->words.emplace_back(token.text);
    } while (Takes("or"));
  }

  bool ReadPath(const Token& token, GroupingPath* path) {
    std::string_view rest = token.text;
    const std::size_t end = std::min(rest.find_first_of(".["), rest.size());
    const auto* const root =
        std::find_if(std::begin(kRoots), std::end(kRoots),
                     [&](const RootWord& one) { return one.word == rest.substr(0, end); });
    if (root == std::end(kRoots)) {
      const auto near = cluster::NearestWord(std::string(rest.substr(0, end)),
                                             {"owner", "pod", "leader", "item", "key"});
      RefuseAt(token, "a path that begins with owner, pod, leader, item or key" +
                          (near ? " (did you mean " + *near + "?)" : ""));
      return false;
    }
    path->root = root->root;
    rest.remove_prefix(end);
    while (!rest.empty()) {
      const bool bracket = rest.front() == '[';
      rest.remove_prefix(1);
      const std::size_t length =
          bracket ? rest.find(']') : std::min(rest.find_first_of(".["), rest.size());
      if (length == std::string_view::npos) return RefuseAt(token, "\"]\" in the path"), false;
      const std::string_view step = rest.substr(0, length);
      const bool each = bracket && step.empty();
      if (!each && !(bracket ? IsWord(step) : IsPlainName(step))) {
        return RefuseAt(token, "a name, [name] or [] in each step of the path"), false;
      }
      path->steps.emplace_back(each ? cluster::kEach : step);
      rest.remove_prefix(length + (bracket ? 1 : 0));
      if (bracket && !rest.empty() && rest.front() != '.' && rest.front() != '[') {
        return RefuseAt(token, "\".\" or \"[\" after \"]\""), false;
      }
    }
    const bool alone =
        path->root == GroupingPath::Root::kItem || path->root == GroupingPath::Root::kKey;
    if (path->steps.empty() && !alone) {
      return RefuseAt(token,
                      "what of it is meant, such as " + std::string(root->word) + ".metadata.name"),
             false;
    }
    if (path->root == GroupingPath::Root::kKey && !path->steps.empty()) {
      return RefuseAt(token, "key alone"), false;
    }
    return true;
  }

  const std::size_t end_;
  const std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::optional<Error> fault_;
};

template <typename T>
Result<T> Finish(Parser* parser, T value) {
  if (std::optional<Error> fault = parser->Fault()) return *std::move(fault);
  return value;
}

std::string Listed(const std::vector<GroupingAmount>& parts) {
  std::string text;
  for (const GroupingAmount& part : parts) {
    text += (text.empty() ? "" : ", ") + FormatGroupingAmount(part);
  }
  return text;
}

// How tightly an amount holds together: what is looser than its place needs parentheses.
int Tightness(Kind kind) {
  if (kind == Kind::kSum || kind == Kind::kMinus) return 0;
  if (kind == Kind::kTimes) return 1;
  if (kind == Kind::kFirst) return 2;
  return 3;
}

std::string Part(const GroupingAmount& part, int least) {
  const std::string text = FormatGroupingAmount(part);
  return Tightness(part.kind) < least ? "(" + text + ")" : text;
}

}  // namespace

Result<GroupingPath> ParseGroupingPath(std::string_view text) {
  if (text.empty()) return GroupingPath{};
  Parser parser(text);
  return Finish(&parser, parser.Path());
}

Result<GroupingAmount> ParseGroupingAmount(std::string_view text) {
  if (text.empty()) return GroupingAmount{};
  Parser parser(text);
  return Finish(&parser, parser.Amount());
}

Result<GroupingCondition> ParseGroupingCondition(std::string_view text) {
  Parser parser(text);
  return Finish(&parser, parser.Condition());
}

std::string FormatGroupingPath(const GroupingPath& path) {
  std::string text;
  for (const RootWord& root : kRoots) {
    if (root.root == path.root) text = root.word;
  }
  for (const std::string& step : path.steps) {
    if (step == cluster::kEach) {
      text += step;
    } else {
      text += IsPlainName(step) ? "." + step : "[" + step + "]";
    }
  }
  return text;
}

std::string FormatGroupingAmount(const GroupingAmount& amount) {
  const auto joined = [&](std::string_view sign, int left, int right) {
    return Part(amount.parts[0], left) + std::string(sign) + Part(amount.parts[1], right);
  };
  switch (amount.kind) {
    case Kind::kNone:
      return "";
    case Kind::kNumber:
      return std::to_string(amount.number);
    case Kind::kPath:
      return FormatGroupingPath(amount.path);
    case Kind::kFirst:
      return joined(" or ", 2, 3);
    case Kind::kSum:
      return joined(" + ", 0, 1);
    case Kind::kMinus:
      return joined(" - ", 0, 1);
    case Kind::kTimes:
      return joined(" * ", 1, 2);
    case Kind::kLeast:
      return "min(" + Listed(amount.parts) + ")";
    case Kind::kMost:
      return "max(" + Listed(amount.parts) + ")";
  }
  return "";
}

std::string FormatGroupingCondition(const GroupingCondition& condition) {
  using CKind = GroupingCondition::Kind;
  const std::string path = FormatGroupingPath(condition.path);
  std::string words;
  for (const std::string& word : condition.words) words += (words.empty() ? "" : " or ") + word;
  switch (condition.kind) {
    case CKind::kPresent:
      return path + " is present";
    case CKind::kAbsent:
      return path + " is absent";
    case CKind::kIs:
      return path + " is " + words;
    case CKind::kIsNot:
      return path + " is not " + words;
    case CKind::kEquals:
      return FormatGroupingAmount(condition.left) + " equals " +
             FormatGroupingAmount(condition.right);
    case CKind::kAbove:
      return FormatGroupingAmount(condition.left) + " is above " +
             FormatGroupingAmount(condition.right);
  }
  return "";
}

}  // namespace muster::config
