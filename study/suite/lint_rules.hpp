#pragma once

// Possible errors of a configuration or a schedule, by name: the rules of a linter.

#include <span>
#include <string_view>

#include <pipeloom/error.hpp>

namespace pipeloom::study::gate {

struct LintRule {
  std::string_view id;       ///< as in Finding::rule and in Diagnostic::code
  std::string_view summary;  ///< one sentence: the error when the rule is broken
};

/// Every rule, in alphabetical order. A diagnostic's code that is not here has the rule "illegal".
[[nodiscard]] std::span<const LintRule> lint_rules();
/// Position in lint_rules() of the rule with this id, else of "illegal".
[[nodiscard]] std::size_t lint_rule_index(std::string_view id);

/// "hang", "message-hang", "mispaired", "refused" or "bad-input": the rule that an error of evaluate() or of a reader breaks.
[[nodiscard]] std::string_view rule_of(const Error& error);

}  // namespace pipeloom::study::gate
