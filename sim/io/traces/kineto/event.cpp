#include "sim/io/traces/kineto/event.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace pipeloom::io {
namespace {

using Member = std::string_view KinetoEvent::*;
using MemberName = std::pair<std::string_view, Member>;

constexpr std::array<MemberName, 7> kMembers = {{{"ph", &KinetoEvent::phase},
                                                 {"cat", &KinetoEvent::category},
                                                 {"name", &KinetoEvent::name},
                                                 {"pid", &KinetoEvent::process},
                                                 {"tid", &KinetoEvent::thread},
                                                 {"ts", &KinetoEvent::time},
                                                 {"dur", &KinetoEvent::length}}};
constexpr std::array<MemberName, 2> kArguments = {
    {{"External id", &KinetoEvent::external_id}, {"name", &KinetoEvent::called}}};
constexpr std::string_view kArgs = "args";
constexpr int kMostDepth = 16;

/// Walks plain JSON once; every method is false where the text is none, or not plain.
class PlainEvent {
 public:
  explicit PlainEvent(std::string_view text) : text_(text) {}

  bool read(KinetoEvent& event) {
    bool has_args = false;
    const auto member = [&](std::string_view key) {
      if (key == kArgs && std::exchange(has_args, true)) return false;
      if (key == kArgs && peek() == '{')
        return pass_object([&](std::string_view of) { return take(kArguments, of, event); }, 1);
      return take(kMembers, key, event);
    };
    if (!pass_object(member, 0)) return false;
    pass_blanks();
    return at_ == text_.size();
  }

 private:
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

  void pass_blanks() {
    while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }

  /// The next character that is no blank.
  char peek() {
    pass_blanks();
    return at_end() ? '\0' : text_[at_];
  }

  bool pass(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  /// Its value into the event if the key is one of `names`, and there for the first time.
  template <std::size_t kCount>
  bool take(const std::array<MemberName, kCount>& names, std::string_view key, KinetoEvent& event) {
    for (const auto& [name, member] : names) {
      if (name != key) continue;
      std::string_view& value = event.*member;
      return value.data() == nullptr && pass_scalar(value);
    }
    return pass_value(1);
  }

  template <class Fn>
  bool pass_object(Fn&& member, int depth) {
    if (depth > kMostDepth || !pass('{')) return false;
    if (pass('}')) return true;
    do {
      std::string_view key;
      if (!pass_string(key) || !pass(':') || !member(key)) return false;
    } while (pass(','));
    return pass('}');
  }

  bool pass_array(int depth) {
    if (depth > kMostDepth || !pass('[')) return false;
    if (pass(']')) return true;
    do
      if (!pass_value(depth)) return false;
    while (pass(','));
    return pass(']');
  }

  bool pass_value(int depth) {
    std::string_view ignored;
    switch (peek()) {
      case '{':
        return pass_object([&](std::string_view) { return pass_value(depth + 1); }, depth + 1);
      case '[':
        return pass_array(depth + 1);
      case 't':
        return pass_word("true");
      case 'f':
        return pass_word("false");
      case 'n':
        return pass_word("null");
      default:
        return pass_scalar(ignored);
    }
  }

  bool pass_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  bool pass_scalar(std::string_view& out) { return peek() == '"' ? pass_string(out) : pass_number(out); }

  bool pass_string(std::string_view& out) {
    if (!pass('"')) return false;
    const std::size_t begin = at_;
    for (; !at_end() && text_[at_] != '"'; ++at_) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte < 0x20 || byte >= 0x7F || byte == '\\') return false;
    }
    out = text_.substr(begin, at_ - begin);
    return pass('"');
  }

  bool pass_digits() {
    const std::size_t begin = at_;
    while (!at_end() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > begin;
  }

  /// Without an exponent, which no profiler writes.
  bool pass_number(std::string_view& out) {
    const std::size_t begin = at_;
    if (!at_end() && text_[at_] == '-') ++at_;
    const std::size_t digits = at_;
    if (!pass_digits() || (text_[digits] == '0' && at_ > digits + 1)) return false;
    if (!at_end() && text_[at_] == '.') {
      ++at_;
      if (!pass_digits()) return false;
    }
    out = text_.substr(begin, at_ - begin);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

template <std::size_t kCount>
void take_members(const Value& object, const std::array<MemberName, kCount>& names, KinetoEvent& event) {
  for (const auto& [name, member] : names)
    if (const Value* value = object.find(name)) event.*member = value->text();
}

}  // namespace

std::optional<KinetoEvent> KinetoEvents::read(std::string_view text) {
  KinetoEvent plain;
  if (PlainEvent(text).read(plain)) return plain;
  tree_ = read_json(text);
  if (!tree_) return std::nullopt;
  KinetoEvent event;
  take_members(*tree_, kMembers, event);
  if (const Value* args = tree_->find(kArgs)) take_members(*args, kArguments, event);
  return event;
}

}  // namespace pipeloom::io
