// Every header of the face through the installed libraries, and what the page's programs print against what the page says.
//
//   consumer PROGRAM SAYS [PROGRAM SAYS...]    exits 1 at the first difference

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/error.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/op.hpp>
#include <pipeloom/run.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/schedules.hpp>
#include <pipeloom/simulate.hpp>
#include <pipeloom/study.hpp>
#include <pipeloom/units.hpp>

using namespace pipeloom;

namespace {

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "FAILED: " << what << '\n';
  ++failures;
}

// (m + p - 1)(F + B) with m = 8, p = 4, F = 1, B = 2
const Ticks kMakespan = (8 + 4 - 1) * (1 + 2) * ticks_per(TimeUnit::Unit);

void check_nouns() {
  const Params params{.ranks = 4, .microbatches = 8};
  const auto schedule = std::make_shared<const Schedule>(make_schedule("1f1b", params));
  const Ticks unit = ticks_per(TimeUnit::Unit);
  Terms terms = uniform_terms(schedule->placement(), {.forward = unit, .backward = 2 * unit});
  const Timeline timeline = simulate(schedule, terms);
  expect(span_of(timeline).length() == kMakespan, "makespan of 1f1b");
  const Metrics metrics = measure(timeline, terms);
  // 4 activations wait on rank 0; the bound is reached.
  expect(metrics.ranks[0].memory.peak_live == 4, "activations of rank 0");
  expect(metrics.lower_bound.value == kMakespan, "lower bound");
  expect(critical_path(timeline, terms).length == kMakespan, "critical path");
  expect(slack(timeline, terms)[0] == 0, "the first forward is critical");
  expect(memory_curve(timeline, terms, Rank(0)).size() > 2, "memory curve");
  Ticks idle = 0;
  const auto spans = idle_spans(timeline, terms);
  for (const IdleSpan& span : spans[0]) idle += span.end - span.start;
  expect(idle == metrics.ranks[0].idle, "idle spans add up");

  // One op that takes 5 longer on the critical path makes all of it 5 longer.
  terms.ops.push_back(
      {.kinds = {OpKind::Forward}, .stage = Stage(0), .microbatch = Microbatch(0), .duration = 6 * unit});
  expect(span_of(simulate(schedule, terms)).length() == kMakespan + 5 * unit, "a cost of one op");
}

/// On one microbatch, an op that takes longer is a stage that takes longer: their pictures are the same to the byte.
void check_pictures_of_ops() {
  const auto schedule =
      std::make_shared<const Schedule>(make_schedule("1f1b", {.ranks = 2, .microbatches = 1}));
  const Ticks unit = ticks_per(TimeUnit::Unit);
  const auto picture = [&](const Terms& terms) {
    std::ostringstream out;
    write(simulate(schedule, terms), terms, "svg", out, {.idle_causes = true, .critical_path = true});
    return out.str();
  };
  Terms by_op = uniform_terms(schedule->placement(), {.forward = unit, .backward = 2 * unit});
  Terms by_stage = by_op;
  by_op.ops.push_back({.kinds = {OpKind::Forward}, .stage = Stage(0), .duration = 6 * unit});
  by_stage.costs.duration[0][0] = 6 * unit;
  expect(picture(by_op) == picture(by_stage), "the picture of a cost of one op");
}

void check_errors() {
  expect(!refusal("dualpipe", {.ranks = 5, .microbatches = 20}).empty(), "dualpipe wants even ranks");
  expect(parse_op("3I7") == backward_input(Stage(3), Microbatch(7)) && to_text(*parse_op("3I7")) == "3I7",
         "text of an op");
  const Schedule hangs = parse_schedule("0F0 0B1 0B0 0F1|1F0 1B0 1F1 1B1");
  expect(!validate(hangs).empty(), "validate");
  const Schedule crossed = parse_schedule("0F0 0F1 0B0 0B1|1F0 1B0 1F1 1B1");
  expect(validate(crossed).empty() && !find_hang(crossed), "a schedule that runs");
  try {
    static_cast<void>(make_schedule("1f1c", {}));
    expect(false, "an unknown schedule");
  } catch (const InputError& error) {
    expect(error.exit_code() == ExitCode::BadInput && error.line().find("1f1b") != std::string::npos,
           error.line());
  }
}

void check_runs() {
  Request request;
  request.schedule = "1f1b";
  request.ranks = "4";
  request.microbatches = "8";
  const Run first = run(request);
  expect(first.metrics->makespan == kMakespan, "makespan of a run");
  expect(report_json(first).find("\"makespan\": 33.0") != std::string::npos, "report");
  request.set = {"costs.forward=1", "costs.backward=3"};
  const Run second = run(request);
  const std::vector<const Run*> both = {&first, &second};
  const Comparison comparison = compare(both);
  expect(comparison.metrics.size() > 5 && comparison.remarks.size() == 1, "comparison");
  for (const char* format : {"svg", "png", "json", "chrome"}) {
    std::ostringstream out;
    write(first, format, out, {.idle_causes = true, .critical_path = true});
    expect(out.str().size() > 100, format);
  }
}

void check_sweep() {
  const Sweep all =
      run_sweep(R"({"base": {"schedule": "1f1b", "ranks": 4, "microbatches": 8}, "metrics": ["makespan"],
                                  "axes": {"microbatches": [8, 16, 0]}})");
  expect(all.keys == std::vector<std::string>{"microbatches"} && all.points.size() == 3, "points of a sweep");
  // (16 + 4 - 1) * 3
  expect(all.points[0].metrics[0] == 33.0 && all.points[1].metrics[0] == 57.0, "values of a sweep");
  expect(all.points[2].status == "illegal" && !all.points[2].error.empty(), "a point that is none");
  const Sweep ended = run_sweep(
      R"({"base": {"schedule": "1f1b", "ranks": 4}, "axes": {"microbatches": {"from": 1, "to": 1000, "step": 1}}})",
      "grid", {.threads = 1, .progress = [](auto done, auto) { return done < 3; }});
  expect(!ended.complete && ended.points[2].status == "ok" && ended.points[3].status.empty(),
         "a sweep that is ended");
}

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  for (int c = pipe == nullptr ? EOF : std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
    out.push_back(static_cast<char>(c));
  expect(pipe != nullptr && pclose(pipe) == 0, command + " ends well");
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  check_nouns();
  check_pictures_of_ops();
  check_errors();
  check_runs();
  check_sweep();
  for (int i = 1; i + 1 < argc; i += 2) {
    std::ostringstream says;
    says << std::ifstream(argv[i + 1]).rdbuf();
    const std::string prints = output_of(std::string("\"") + argv[i] + "\"");
    expect(prints == says.str(),
           std::string(argv[i]) + " prints\n" + prints + "and the page says\n" + says.str());
  }
  return failures == 0 ? 0 : 1;
}
