#pragma once

// An error of a configuration or a schedule, and its place: linters report it.

#include <string>

#include <pipeloom/error.hpp>

namespace pipeloom::study {

struct Finding {
  /// A diagnostic's code (sim/analysis/validate.hpp), or another rule of study/suite/lint_rules.hpp.
  std::string rule;
  std::string message;
  Where where;
};

}  // namespace pipeloom::study
