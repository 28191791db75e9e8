#pragma once

// The names that each file of bindings adds to the module `pipeloom._core`. The package in python/pipeloom is the public interface; these
// names are internal and may change.

#include <nanobind/nanobind.h>

namespace pipeloom::python {

/// Every Error leaves as its class of pipeloom._errors, with file, line, column and exit code.
void bind_errors();
void bind_run(nanobind::module_& module);
void bind_schedules(nanobind::module_& module);
void bind_study(nanobind::module_& module);

/// Returns true if a signal came whose handler raised: Ctrl-C. Takes the GIL for the question. Returns false on all but the main thread.
[[nodiscard]] bool signal_raised();

}  // namespace pipeloom::python
