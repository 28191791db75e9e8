#pragma once

// Words for a shell's command line.

#include <string>
#include <string_view>

namespace pipeloom::study {

/// `word` in single quotes, so that a POSIX shell takes it as it is.
[[nodiscard]] std::string shell_quoted(std::string_view word);
/// `word` itself if no shell looks at it twice (zsh looks for a program where one begins with '='), else shell_quoted().
[[nodiscard]] std::string shell_word(std::string_view word);

}  // namespace pipeloom::study
