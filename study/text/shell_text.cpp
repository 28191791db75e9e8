#include "study/text/shell_text.hpp"

namespace pipeloom::study {

std::string shell_quoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  const bool plain =
      !word.empty() && word.front() != '=' && word.find_first_not_of(kPlain) == std::string_view::npos;
  return plain ? std::string(word) : shell_quoted(word);
}

}  // namespace pipeloom::study
