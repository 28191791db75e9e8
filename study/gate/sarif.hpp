#pragma once

// SARIF 2.1.0 (OASIS): findings of a linter, as code scanning shows them.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/suite/suite.hpp"

namespace pipeloom::study::gate {

/// One result per finding, the rules of lint_rules.hpp in the driver. Places are those of the files, relative as they were named;
/// columns count bytes, as in every message of Pipeloom. A finding's fingerprint is of rule, file and message: it keeps it when lines above move.
/// `version` is that of the program.
[[nodiscard]] std::string sarif(std::span<const Finding> findings, std::string_view version);

/// What is wrong in the suite's files: the findings of cases whose status is not the expected one, or what kept the suite from running.
[[nodiscard]] std::vector<Finding> lint_findings(const CheckResult& result);

}  // namespace pipeloom::study::gate
