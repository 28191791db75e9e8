#pragma once

// What each file of bindings adds to the module `pipeloom._core`. The package in python/pipeloom makes the interface that people see; these
// names are its own and promise nothing.

#include <nanobind/nanobind.h>

namespace pipeloom::python {

/// Every Error leaves as its class of pipeloom._errors, with file, line, column and exit code.
void bind_errors();
void bind_run(nanobind::module_& module);
void bind_schedules(nanobind::module_& module);
void bind_study(nanobind::module_& module);

/// Whether a signal came whose handler raised: Ctrl-C. Takes the GIL for the question. Only the main thread is ever told so.
[[nodiscard]] bool signal_raised();

}  // namespace pipeloom::python
