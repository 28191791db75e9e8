// Any bytes as a suite, and as edits of a configuration. Small cases that need no file run and are compared, and what `check` writes of
// them is JSON or text of one line each; others are only read.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include <pipeloom/error.hpp>
#include "sim/io/config/config.hpp"
#include "sim/io/json/json_value.hpp"
#include "study/gate/outputs.hpp"
#include "study/suite/baseline.hpp"
#include "study/suite/case_verdict.hpp"
#include "study/suite/suite.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace pipeloom;
using fuzz::require;

// A folder that does not exist: names of files in a suite lead nowhere.
constexpr const char* kPath = "/nowhere/at/all/suite.json";
/// So there are many inputs a second.
constexpr std::size_t kMostCases = 4;
constexpr int kMostRanks = 8;
constexpr double kMostMemory = 1 << 15;

/// A file that readers can open and no disk holds.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(fd_ >= 0 && ::write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

/// Whether a case needs no file and does not take long. One whose configuration is refused is small.
bool is_small(const study::SuiteCase& one) {
  if (!one.config_file.empty() || !one.schedule_file.empty()) return false;
  try {
    const io::Config config = io::read_run_config(one.config.root());
    return config.schedule != io::kCustomSchedule && config.ranks <= kMostRanks &&
           config.chunks.value_or(1) <= kMostRanks;
  } catch (const InputError&) {
    const io::Value& root = one.config.root();
    const io::Value* schedule = root.is(io::ValueKind::Object) ? root.find("schedule") : nullptr;
    return schedule == nullptr ||
           schedule->text() != io::kCustomSchedule;  // which may name a file all the same
  }
}

/// The baseline of results reads back as what they are.
void check_baseline(const study::CheckResult& result) {
  std::map<std::string, study::CaseResult> rows;
  for (const study::CaseResult& row : result.results) rows[row.name] = row;
  std::ostringstream out;
  study::write_baseline(out, rows);
  const MemoryFile file(out.str());
  const auto again = study::read_baseline(file.path());
  require(again.size() == rows.size());
  for (const auto& [name, row] : rows)
    require(study::compare_rows(again.at(name), row, result.tolerance).empty());
  std::ostringstream written;
  study::write_baseline(written, again);
  require(written.str() == out.str());
}

/// What each case would say if its row were another case's.
void add_changes(study::CheckResult& result) {
  for (std::size_t i = 0; i < result.results.size(); ++i) {
    study::CaseResult before = result.results[(i + 1) % result.results.size()];
    before.name = result.results[i].name;
    for (study::Change& change : study::compare_rows(before, result.results[i], result.tolerance))
      result.changes.push_back(std::move(change));
  }
  result.changes.push_back({"gone", "case", "ok", "", study::Verdict::Gone});
}

/// What `check` writes for people and CI servers.
void check_outputs(const study::CheckResult& result) {
  for (const study::gate::CaseVerdict& verdict : study::gate::failing(study::gate::verdicts_of(result))) {
    fuzz::require_one_line(study::gate::headline(result, verdict));
    for (const std::string& line : study::gate::all_lines(result, verdict)) fuzz::require_one_line(line);
  }
  for (const std::string& json : {study::gate::benchmark_json(result), study::gate::bmf(result),
                                  study::gate::sarif(study::gate::lint_findings(result), "1")})
    (void)io::Document::parse(json, "output");
  require(!study::gate::junit(result).empty());
  require(!study::gate::summary(result).empty());
  (void)study::gate::annotations(result);
}

void check_suite(std::string_view text) {
  const study::Suite suite = study::parse_suite(io::Document::parse(text, kPath), kPath);
  Limits limits;
  limits.max_memory = kMostMemory;
  study::CheckResult result;
  result.suite_path = suite.path;
  result.baseline_path = suite.baseline_path;
  result.tolerance = suite.tolerance;
  for (const study::SuiteCase& one : suite.cases) {
    require(one.where.line > 0);
    if (result.results.size() == kMostCases || !is_small(one)) continue;
    try {
      result.results.push_back(study::run_case(one, suite.metrics, limits));
    } catch (const InputError& error) {  // larger than the limits allow
      fuzz::require_one_line(error.line());
    }
  }
  if (result.results.empty()) return;
  check_baseline(result);
  add_changes(result);
  for (const bool updated : {false, true}) {
    result.updated = updated;
    check_outputs(result);
  }
}

void check_edits(std::string_view text) {
  io::Document document;
  document.set_option(text);
  document.set_option(text);
  const std::string once = document.root().canonical_text();
  require(io::Document::parse(once, "again").root().canonical_text() == once);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto check : {check_suite, check_edits}) try {
      check(text);
    } catch (const InternalError&) {
      throw;  // a bug, whatever the input
    } catch (const Error& error) {
      fuzz::require_one_line(error.line());
    }
  return 0;
}
