#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>

#include <pipeloom/op.hpp>
#include <pipeloom/run.hpp>
#include <pipeloom/schedules.hpp>
#include <pipeloom/simulate.hpp>
#include "python/bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace pipeloom::python {
namespace {

std::string kind_letter(OpKind kind) {
  return to_text(Op(kind, Stage(0), Microbatch(0))).substr(1, 1);
}

std::vector<std::string> kinds() {
  std::vector<std::string> out;
  for (const OpKind kind : kAllOpKinds) out.push_back(kind_letter(kind));
  return out;
}

/// [index of kAllOpKinds]: "#rrggbb".
std::vector<std::string> kind_colours(bool dark) {
  std::vector<std::string> out;
  for (const OpKind kind : kAllOpKinds) out.push_back(kind_colour(kind, dark));
  return out;
}

nb::list schedules() {
  nb::list out;
  for (const ScheduleInfo& info : all_schedules()) {
    nb::dict row;
    row["name"] = info.name;
    row["aliases"] = info.aliases;
    row["summary"] = info.summary;
    row["source"] = info.source;
    row["when_to_use"] = info.when_to_use;
    row["requirements"] = info.requirements.text;
    row["default_chunks"] = info.requirements.default_chunks;
    row["variants"] = info.requirements.variants;
    out.append(row);
  }
  return out;
}

}  // namespace

void bind_schedules(nb::module_& module) {
  module.def("kinds", &kinds);
  module.def("kind_colours", &kind_colours, "dark"_a = false);
  module.def("schedules", &schedules, nb::sig("def schedules() -> list[dict[str, object]]"));
}

}  // namespace pipeloom::python
