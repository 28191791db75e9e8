#pragma once

// Something wrong with a configuration or a schedule, and where: what a linter reports.

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
