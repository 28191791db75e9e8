#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/link.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/run.hpp>
#include <pipeloom/schedules.hpp>
#include "python/bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace pipeloom::python {
namespace {

template <class T>
using Column = nb::ndarray<nb::numpy, const T, nb::ndim<1>, nb::c_contig>;

/// The ops of a run, one array for each property, [op index].
struct OpColumns {
  std::vector<std::int32_t> rank;
  std::vector<std::int32_t> stage;
  std::vector<std::int32_t> microbatch;
  std::vector<std::int32_t> slice;
  std::vector<std::uint8_t> kind;  ///< index of kAllOpKinds
  std::vector<std::uint8_t> joined;
};

OpColumns columns_of(const Schedule& schedule) {
  OpColumns out;
  const std::size_t n = schedule.num_ops();
  out.rank.resize(n);
  out.stage.resize(n);
  out.microbatch.resize(n);
  out.slice.resize(n);
  out.kind.resize(n);
  out.joined.resize(n);
  for (Rank rank; rank.value() < schedule.ranks(); ++rank) {
    for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i) {
      const Op op = schedule.ops()[i];
      out.rank[i] = rank.value();
      out.stage[i] = op.stage().value();
      out.microbatch[i] = op.microbatch().value();
      out.slice[i] = op.slice();
      out.kind[i] = static_cast<std::uint8_t>(index_of(op.kind()));
      out.joined[i] = op.joined() ? 1 : 0;
    }
  }
  return out;
}

/// A run that Python owns. Nothing in it changes after it was made, but for columns, which are made at the first question: under the GIL,
/// so that two threads cannot both make them.
class PyRun {
 public:
  explicit PyRun(Run run) : run_(std::move(run)) {}

  [[nodiscard]] const Run& run() const { return run_; }
  const OpColumns& columns() {
    if (!columns_) columns_ = std::make_unique<OpColumns>(columns_of(*run_.schedule));
    return *columns_;
  }
  /// Durations of ops and the memory that they hold. Throws InputError for a run that has times alone.
  [[nodiscard]] Terms terms() const {
    if (!run_.costs || !run_.memory)
      throw InputError("this run has times only; memory and causes of idle time take a simulated run");
    return Terms{*run_.costs, *run_.memory, {}};
  }

 private:
  Run run_;
  std::unique_ptr<OpColumns> columns_;
};

/// A view of `values`, which lives as long as `owner`, a Python object, does.
template <class T>
Column<T> view(const std::vector<T>& values, const PyRun& owner) {
  return Column<T>(values.data(), {values.size()}, nb::find(owner));
}

/// An array of its own.
template <class T>
Column<T> own(std::vector<T> values) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  const T* data = kept->data();
  const std::size_t size = kept->size();
  const nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Column<T>(data, {size}, owner);
}

std::unique_ptr<PyRun> make_run(const Request& request, bool with_metrics) {
  Limits limits;
  bool stopped = false;
  limits.with_metrics = with_metrics;
  limits.stop = [&stopped] { return stopped = stopped || signal_raised(); };
  limits.progress = [&stopped](double /*share*/) {
    stopped = stopped || signal_raised();
    return !stopped;
  };
  try {
    const nb::gil_scoped_release unlocked;
    return std::make_unique<PyRun>(run(request, limits));
  } catch (const Stopped&) {
    if (PyErr_Occurred() == nullptr) throw;
    throw nb::python_error();
  }
}

std::string report_of(const PyRun& run) {
  const nb::gil_scoped_release unlocked;
  return report_json(run.run());
}

nb::bytes written(const PyRun& run, const std::string& format, const Picture& picture) {
  std::string text;
  {
    const nb::gil_scoped_release unlocked;
    std::ostringstream out;
    write(run.run(), format, out, picture);
    text = std::move(out).str();
  }
  return nb::bytes(text.data(), text.size());
}

std::string link_to(const PyRun& run, const PyRun* compare, const std::string& base) {
  return link_of(run.run(), compare == nullptr ? nullptr : &compare->run(), base);
}

/// config, file, compare.
using LinkParts =
    std::tuple<std::optional<std::string>, std::optional<std::string>, std::optional<std::string>>;

LinkParts parts_of_link(const std::string& text) {
  Link link = read_link(text);
  return {std::move(link.config), std::move(link.file), std::move(link.compare)};
}

std::vector<std::string> queues_of(const Schedule& schedule) {
  std::vector<std::string> out;
  for (Rank rank; rank.value() < schedule.ranks(); ++rank) out.push_back(queue_text(schedule, rank));
  return out;
}

/// [replica][stage]: the rank.
std::vector<std::vector<int>> placement_of_run(const Schedule& schedule) {
  const Placement& placement = schedule.placement();
  std::vector<std::vector<int>> out;
  for (Replica replica; replica.value() < placement.replicas(); ++replica) {
    std::vector<int>& ranks = out.emplace_back();
    for (Stage stage; stage.value() < placement.stages(); ++stage)
      ranks.push_back(placement.rank_of(stage, replica).value());
  }
  return out;
}

std::pair<Column<Ticks>, Column<Bytes>> memory_of(const PyRun& run, int rank, int step) {
  const Timeline& timeline = run.run().timeline;
  if (rank < 0 || rank >= timeline.schedule->ranks())
    throw InputError("rank is " + std::to_string(rank) + "; this run has ranks 0 to " +
                     std::to_string(timeline.schedule->ranks() - 1));
  if (step < 0 || step >= timeline.steps)
    throw InputError("step is " + std::to_string(step) + "; this run has steps 0 to " +
                     std::to_string(timeline.steps - 1));
  std::vector<Ticks> times;
  std::vector<Bytes> bytes;
  for (const MemoryStep& at : memory_curve(timeline, run.terms(), Rank(rank), step)) {
    times.push_back(at.time);
    bytes.push_back(at.bytes);
  }
  return {own(std::move(times)), own(std::move(bytes))};
}

using IdleRow = std::tuple<int, Ticks, Ticks, std::string>;

std::vector<IdleRow> idle_of(const PyRun& run) {
  std::vector<std::vector<IdleSpan>> spans = run.run().idle;
  if (spans.empty() && run.run().program == nullptr) spans = idle_spans(run.run().timeline, run.terms());
  std::vector<IdleRow> out;
  for (std::size_t rank = 0; rank < spans.size(); ++rank) {
    for (const IdleSpan& span : spans[rank])
      out.emplace_back(static_cast<int>(rank), span.start, span.end, std::string(name_of(span.cause)));
  }
  return out;
}

void bind_request(nb::module_& module) {
  nb::class_<Request>(module, "Request")
      .def(nb::init<>())
      .def_rw("file", &Request::file, nb::arg().none())
      .def_rw("text", &Request::text, nb::arg().none())
      .def_rw("other_files", &Request::other_files)
      .def_rw("from_", &Request::from, nb::arg().none())
      .def_rw("mapping", &Request::mapping, nb::arg().none())
      .def_rw("schedule", &Request::schedule, nb::arg().none())
      .def_rw("ranks", &Request::ranks, nb::arg().none())
      .def_rw("microbatches", &Request::microbatches, nb::arg().none())
      .def_rw("chunks", &Request::chunks, nb::arg().none())
      .def_rw("set", &Request::set);
  nb::class_<Picture>(module, "Picture")
      .def(nb::init<>())
      .def_rw("title", &Picture::title)
      .def_rw("width", &Picture::width)
      .def_rw("height", &Picture::height)
      .def_rw("memory", &Picture::memory)
      .def_rw("idle_causes", &Picture::idle_causes)
      .def_rw("critical_path", &Picture::critical_path)
      .def_rw("dark", &Picture::dark);
}

void bind_columns(nb::class_<PyRun>& type) {
  const auto column = [&type](const char* name, auto member) {
    type.def_prop_ro(name, [member](PyRun& self) { return view(self.columns().*member, self); });
  };
  column("rank", &OpColumns::rank);
  column("stage", &OpColumns::stage);
  column("microbatch", &OpColumns::microbatch);
  column("slice", &OpColumns::slice);
  column("kind", &OpColumns::kind);
  column("joined", &OpColumns::joined);
  type.def_prop_ro("start", [](PyRun& self) { return view(self.run().timeline.start, self); });
  type.def_prop_ro("end", [](PyRun& self) { return view(self.run().timeline.end, self); });
}

using ComparisonRow = std::tuple<std::string, std::string, int, std::vector<std::optional<double>>>;

std::pair<std::vector<ComparisonRow>, std::vector<std::vector<std::string>>> compare_runs(
    const std::vector<const PyRun*>& runs) {
  if (runs.empty()) throw InputError("compare takes at least one run");
  std::vector<const Run*> plain;
  for (const PyRun* run : runs) plain.push_back(&run->run());
  Comparison comparison;
  {
    const nb::gil_scoped_release unlocked;
    comparison = compare(plain);
  }
  std::vector<ComparisonRow> rows;
  for (ComparedMetric& metric : comparison.metrics)
    rows.emplace_back(std::move(metric.name), std::move(metric.unit), metric.better,
                      std::move(metric.values));
  return {std::move(rows), std::move(comparison.remarks)};
}

}  // namespace

void bind_run(nb::module_& module) {
  bind_request(module);
  nb::class_<PyRun> type(module, "Run");
  type.def_prop_ro("simulated", [](const PyRun& self) { return self.run().simulated(); })
      .def_prop_ro("has_metrics", [](const PyRun& self) { return self.run().metrics.has_value(); })
      .def_prop_ro("title", [](const PyRun& self) { return self.run().title; })
      .def_prop_ro("file", [](const PyRun& self) { return self.run().file; })
      .def_prop_ro("warnings", [](const PyRun& self) { return self.run().warnings; })
      .def_prop_ro("steps", [](const PyRun& self) { return self.run().timeline.steps; })
      .def_prop_ro("unit", [](const PyRun& self) { return std::string(name_of(self.run().timeline.unit)); })
      .def_prop_ro("ticks_per_unit", [](const PyRun& self) { return ticks_per(self.run().timeline.unit); })
      .def_prop_ro("ranks", [](const PyRun& self) { return self.run().schedule->ranks(); })
      .def_prop_ro("stages", [](const PyRun& self) { return self.run().schedule->stages(); })
      .def_prop_ro("microbatches", [](const PyRun& self) { return self.run().schedule->microbatches(); })
      .def_prop_ro("num_ops", [](const PyRun& self) { return self.run().schedule->num_ops(); })
      .def_prop_ro("over_limit", [](const PyRun& self) { return self.run().over_limit.has_value(); })
      .def("queues", [](const PyRun& self) { return queues_of(*self.run().schedule); })
      .def("placement", [](const PyRun& self) { return placement_of_run(*self.run().schedule); })
      .def("report", &report_of)
      .def("write", &written, "format"_a, "picture"_a)
      .def("link", &link_to, "compare"_a.none(), "base"_a)
      .def("memory", &memory_of, "rank"_a, "step"_a)
      .def("idle", &idle_of);
  bind_columns(type);
  module.def("run", &make_run, "request"_a, "with_metrics"_a);
  module.def("compare", &compare_runs, "runs"_a);
  module.def("is_link", [](const std::string& text) { return is_link(text); });
  module.def("read_link", &parts_of_link, "text"_a);
  module.attr("serve_address") = std::string(kServeAddress);
}

}  // namespace pipeloom::python
