#include "bindings.hpp"

NB_MODULE(_core, module) {
  module.doc() = "Bindings of include/pipeloom; use the package pipeloom";
  pipeloom::python::bind_errors();
  pipeloom::python::bind_run(module);
  pipeloom::python::bind_schedules(module);
  pipeloom::python::bind_study(module);
}
