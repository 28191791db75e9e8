#pragma once

// JUnit XML, as Jenkins, GitLab and most other CI servers read it.

#include <string>

#include "study/suite/suite.hpp"

namespace pipeloom::study::gate {

/// One <testcase> per case in suite order, then one per case that is gone: a <failure> of type "unexpected", "worse", "changed",
/// "better" or "unlisted" (case_verdict.hpp) with a line per change where it is not fine; one <error> if the suite could not be run.
/// No times: equal results give equal bytes. Satisfies the schema of the xUnit plugin of Jenkins (junit-10.xsd).
[[nodiscard]] std::string junit(const CheckResult& result);

}  // namespace pipeloom::study::gate
