#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "python/bindings/bindings.hpp"

NB_MODULE(_core, module) {
  module.doc() = "Bindings of include/pipeloom; use the package pipeloom";
  module.def("version", [] { return std::string(PIPELOOM_VERSION); });
  pipeloom::python::bind_errors();
  pipeloom::python::bind_run(module);
  pipeloom::python::bind_schedules(module);
  pipeloom::python::bind_study(module);
}
