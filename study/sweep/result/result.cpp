// Reading results.

#include "study/sweep/result/result.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>

#include "sim/base/text_tools.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_text.hpp"
#include "study/sweep/result/outcome.hpp"
#include "study/text/numbers.hpp"
#include "study/text/result_text.hpp"
#include "version.hpp"

namespace pipeloom::sweep {

namespace {

constexpr const char* kOption = "--shard";

std::optional<int> whole(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size() && value >= 0
             ? std::optional(value)
             : std::nullopt;
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view(value);
}

/// A variable that a launcher or scheduler sets for each of the processes that it starts.
struct Launcher {
  const char* index;
  const char* first;  ///< variable with the lowest index, or nullptr: it is 0
  const char* step;   ///< variable with the distance of two indices, or nullptr: it is 1
  const char* needs;  ///< variable that must be above 1 for the index to mean anything, or nullptr
};
constexpr Launcher kLaunchers[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", nullptr},
    {"JOB_COMPLETION_INDEX", nullptr, nullptr, nullptr},
    {"SLURM_PROCID", nullptr, nullptr, "SLURM_NTASKS"},
    {"OMPI_COMM_WORLD_RANK", nullptr, nullptr, nullptr},
    {"PMI_RANK", nullptr, nullptr, nullptr},
    {"RANK", nullptr, nullptr, nullptr},
};

int number_in(const char* name) {
  const std::string_view text = environment(name);
  const auto value = whole(text);
  if (!value)
    throw InputError(Where{kOption}, fmt::format("{} is '{}'; it must be a whole number for auto/n, or say "
                                                 "which shard this is, such as 1/4",
                                                 name, shortened(text, 64)));
  return *value;
}

/// Number of this shard by the environment's variables, from 1.
int automatic_index(int count) {
  for (const Launcher& launcher : kLaunchers) {
    if (environment(launcher.index).empty()) continue;
    if (launcher.needs != nullptr && whole(environment(launcher.needs)).value_or(0) <= 1) continue;
    const auto optional = [](const char* name, int otherwise) {
      return name == nullptr || environment(name).empty() ? otherwise : number_in(name);
    };
    const int distance = number_in(launcher.index) - optional(launcher.first, 0);
    const int index = 1 + distance / std::max(1, optional(launcher.step, 1));
    if (distance < 0 || index > count)
      throw InputError(
          Where{kOption},
          fmt::format("{} = {} makes this shard {} of {}; start as many tasks as there are shards, or "
                      "raise the number behind auto/",
                      launcher.index, environment(launcher.index), index, count));
    return index;
  }
  throw InputError(Where{kOption},
                   "auto finds none of SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, SLURM_PROCID, "
                   "OMPI_COMM_WORLD_RANK, PMI_RANK and RANK; say which shard this is, such as 1/4");
}

}  // namespace

std::string Shard::text() const {
  return fmt::format("{}/{}", index, count);
}

bool Shard::has(std::string_view key) const {
  std::uint64_t number = 0;
  std::from_chars(key.data(), key.data() + key.size(), number, 16);
  return number % static_cast<std::uint64_t>(count) == static_cast<std::uint64_t>(index - 1);
}

Shard Shard::parse(std::string_view text) {
  const auto refuse = [text] {
    return InputError(
        Where{kOption},
        fmt::format("found '{}'; allowed is i/n with i from 1 to n and n up to {}, such as 3/7, or auto/n",
                    shortened(text, 64), kMaxShards));
  };
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) throw refuse();
  Shard out;
  out.count = whole(text.substr(slash + 1)).value_or(0);
  if (out.count < 1 || out.count > kMaxShards) throw refuse();
  const std::string_view index = text.substr(0, slash);
  out.index = index == "auto" ? automatic_index(out.count) : whole(index).value_or(0);
  if (out.index < 1 || out.index > out.count) throw refuse();
  return out;
}

Header Header::of(const Grid& grid, std::vector<std::string> metrics, std::uint64_t points,
                  std::optional<Shard> shard) {
  Header out;
  out.version = kVersion;
  out.grid = grid.hash();
  out.points = points;
  out.metrics = std::move(metrics);
  out.axes_json = grid.axes_json();
  out.base_json = grid.base_json();
  out.scenarios = grid.scenarios();
  out.shard = shard;
  return out;
}

std::string Header::scenarios_text() const {
  return scenarios ? fmt::format("{} scenarios of seed {}", scenarios->count, scenarios->seed)
                   : "no scenarios";
}

std::string Header::line() const {
  std::string out = fmt::format(R"({{"sweep": {{"schema_version": {}, "version": )", schema_version);
  io::append_json_string(out, version);
  out += R"(, "grid": )";
  io::append_json_string(out, grid);
  out += fmt::format(R"(, "points": {}, "metrics": [)", points);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (i > 0) out += ", ";
    io::append_json_string(out, metrics[i]);
  }
  out += R"(], "axes": )" + axes_json + R"(, "base": )" + base_json;
  if (scenarios)
    out += fmt::format(R"(, "scenarios": {{"count": {}, "seed": {}}})", scenarios->count, scenarios->seed);
  if (shard) out += R"(, "shard": ")" + shard->text() + '"';
  return out + "}}";
}

namespace {

constexpr std::string_view kComment = "# ";

[[noreturn]] void refuse_header(const Where& where, const std::string& why) {
  throw InputError(where,
                   fmt::format("this is no result of a sweep: {}; give a file that `pipeloom sweep` or "
                               "`pipeloom merge` has written",
                               why));
}

[[noreturn]] void refuse_line(const Where& where, const LineScanner& scanner, std::string_view expected) {
  throw InputError(
      Where{where.file, where.line, static_cast<int>(scanner.position()) + 1},
      fmt::format("this line of a sweep's result is damaged: {} is missing here; `pipeloom sweep "
                  "--resume` writes the file anew from this line on",
                  expected));
}

/// Walks along a line and refuses it at the first error.
class LineParser {
 public:
  LineParser(std::string_view line, const Where& where) : scanner_(line), where_(where) {}

  void expect(std::string_view literal) {
    if (!scanner_.take(literal)) refuse_line(where_, scanner_, fmt::format("'{}'", literal));
  }
  bool take(std::string_view literal) { return scanner_.take(literal); }
  template <class Found>
  auto required(const std::optional<Found>& found, std::string_view what) {
    if (!found) refuse_line(where_, scanner_, what);
    return *found;
  }
  std::uint64_t whole_number() { return required(scanner_.whole_number(), "a whole number"); }
  std::string text() { return decoded(required(scanner_.quoted(), "a text")); }
  std::string number() { return std::string(required(scanner_.number(), "a number")); }
  /// A number, or kNoValue.
  std::string metric() { return take(study::kNoValue) ? std::string(study::kNoValue) : number(); }
  std::string value() { return std::string(required(scanner_.value(), "a JSON value")); }
  void expect_end() {
    if (!scanner_.at_end()) refuse_line(where_, scanner_, "the end of the line");
  }
  [[nodiscard]] bool at_end() const { return scanner_.at_end(); }

  /// Reads the members of the object that "{" has just opened, and its closing bracket: appends {key, read()} for each.
  template <class Read>
  void members(std::vector<std::pair<std::string, std::string>>& out, const Read& read) {
    if (take("}")) return;
    do {
      std::string key = text();
      expect(": ");
      out.emplace_back(std::move(key), read());
    } while (take(", "));
    expect("}");
  }

 private:
  LineScanner scanner_;
  const Where& where_;
};

void require_status(const ResultLine& line, const Where& where) {
  for (const Status status : {Status::Ok, Status::Illegal, Status::Hang, Status::OverMemory, Status::Failed})
    if (line.status == name_of(status)) return;
  throw InputError(where,
                   fmt::format("this line of a sweep's result is damaged: there is no status '{}'; `pipeloom "
                               "sweep --resume` writes the file anew from this line on",
                               shortened(line.status, 64)));
}

Header parse_header(std::string_view line, const Where& where) {
  LineParser parser(line, where);
  Header out;
  parser.expect(R"({"sweep": {"schema_version": )");
  out.schema_version = static_cast<int>(std::min<std::uint64_t>(parser.whole_number(), 1'000'000));
  if (out.schema_version != 1)
    refuse_header(
        where, fmt::format("its schema_version is {}, and this program reads version 1", out.schema_version));
  parser.expect(R"(, "version": )");
  out.version = parser.text();
  parser.expect(R"(, "grid": )");
  out.grid = parser.text();
  parser.expect(R"(, "points": )");
  out.points = parser.whole_number();
  parser.expect(R"(, "metrics": [)");
  if (!parser.take("]")) {
    do {
      out.metrics.push_back(parser.text());
    } while (parser.take(", "));
    parser.expect("]");
  }
  parser.expect(R"(, "axes": )");
  out.axes_json = parser.value();
  parser.expect(R"(, "base": )");
  out.base_json = parser.value();
  if (parser.take(R"(, "scenarios": {"count": )")) {
    const std::uint64_t count = parser.whole_number();
    if (count < 1 || count > study::kMostScenarios) refuse_header(where, "its count of scenarios is none");
    parser.expect(R"(, "seed": )");
    out.scenarios = {static_cast<int>(count), parser.whole_number()};
    parser.expect("}");
  }
  if (parser.take(R"(, "shard": )")) {
    const std::string shard = parser.text();
    // "auto" is never written.
    if (shard.substr(0, 4) == "auto") refuse_header(where, "its shard has no number");
    out.shard = Shard::parse(shard);
  }
  parser.expect("}}");
  parser.expect_end();
  return out;
}

/// The columns of a CSV result.
struct Columns {
  std::vector<std::string> keys;
  std::size_t metrics = 0;

  Columns() = default;
  Columns(std::string_view line, const Header& header, const Where& where) {
    const auto cells = cells_of(line);
    const std::size_t fixed = 4 + header.metrics.size();
    if (!cells || cells->size() < fixed) refuse_header(where, "its second line does not name the columns");
    metrics = header.metrics.size();
    const auto status = cells->end() - static_cast<std::ptrdiff_t>(metrics) - 2;
    keys.assign(cells->begin() + 2, status);
    const bool fits = (*cells)[0] == "point" && (*cells)[1] == "key" && *status == "status" &&
                      std::equal(header.metrics.begin(), header.metrics.end(), status + 1) &&
                      cells->back() == "error";
    if (!fits) refuse_header(where, "its columns are not those of its header");
  }
};

ResultLine read_csv_line(std::string_view line, const Columns& columns, const Header& header,
                         const Where& where) {
  const auto cells = cells_of(line);
  const std::size_t expected = columns.keys.size() + columns.metrics + 4;
  if (!cells || cells->size() != expected || valid_utf8(line) != line.size())
    throw InputError(
        where, fmt::format("this line of a sweep's result is damaged: it does not have {} cells; `pipeloom "
                           "sweep --resume` writes the file anew from this line on",
                           expected));
  ResultLine out;
  const auto cell = [&](std::size_t i) -> const std::string& { return (*cells)[i]; };
  LineParser point(cell(0), where);
  out.point = point.whole_number();
  point.expect_end();
  out.key = cell(1);
  std::size_t next = 2;
  for (const std::string& key : columns.keys) {
    if (!cell(next).empty()) out.config.emplace_back(key, json_of_cell(cell(next)));
    ++next;
  }
  out.status = cell(next++);
  require_status(out, where);
  for (const std::string& metric : header.metrics) {
    if (!cell(next).empty()) {
      LineParser value(cell(next), where);
      out.metrics.emplace_back(metric, value.number());
      value.expect_end();
    }
    ++next;
  }
  out.error = cell(next);
  return out;
}

}  // namespace

Header read_header(std::string_view line, const Where& where) {
  if (line.substr(0, 10) != R"({"sweep": )") refuse_header(where, "its first line is no header");
  try {
    return parse_header(line, where);
  } catch (const InputError& error) {
    if (error.where().column == 0 && error.where().file == where.file) throw;
    refuse_header(where, "its header is damaged");
  }
}

ResultLine read_line(std::string_view line, const Where& where) {
  LineParser parser(line, where);
  ResultLine out;
  parser.expect(R"({"point": )");
  out.point = parser.whole_number();
  parser.expect(R"(, "key": )");
  out.key = parser.text();
  parser.expect(R"(, "config": {)");
  parser.members(out.config, [&parser] { return parser.value(); });
  parser.expect(R"(, "status": )");
  out.status = parser.text();
  require_status(out, where);
  if (parser.take(R"(, "metrics": {)")) parser.members(out.metrics, [&parser] { return parser.metric(); });
  std::erase_if(out.metrics, [](const auto& metric) { return metric.second == study::kNoValue; });
  if (parser.take(R"(, "error": )")) out.error = parser.text();
  parser.expect("}");
  parser.expect_end();
  return out;
}

struct ResultReader::State {
  State(std::string file, int fd) : path(std::move(file)), descriptor(fd), source(fd, path) {}
  ~State() {
    if (descriptor != STDIN_FILENO) ::close(descriptor);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  [[nodiscard]] Where where() const { return {path, source.line_number()}; }
  /// False at the end.
  bool read(std::string& line) {
    if (!source.next(line)) return false;
    if (!source.ended())
      throw InputError(where(),
                       "this line has no end, like the last one of a sweep that was cut short; go on with "
                       "`pipeloom sweep --resume`");
    return true;
  }
  void read_preamble();

  std::string path;
  int descriptor;
  LineSource source;
  Header header;
  ResultFormat format = ResultFormat::JsonLines;
  std::string columns_line;
  Columns columns;
  std::string text;
};

void ResultReader::State::read_preamble() {
  std::string line;
  if (!read(line)) refuse_header({path, 1}, "it is empty");
  std::string_view json = line;
  if (json.substr(0, kComment.size()) == kComment) {
    format = ResultFormat::Csv;
    json.remove_prefix(kComment.size());
  }
  header = read_header(json, where());
  if (format == ResultFormat::JsonLines) return;
  if (!read(columns_line)) refuse_header({path, 2}, "it ends behind its header");
  columns = Columns(columns_line, header, where());
}

ResultReader::ResultReader(const std::string& path) {
  const int fd = path == "-" ? STDIN_FILENO : io::open_to_read(path);
  state_ = std::make_unique<State>(path == "-" ? "standard input" : path, fd);
  state_->read_preamble();
}

ResultReader::~ResultReader() = default;
ResultReader::ResultReader(ResultReader&&) noexcept = default;
ResultReader& ResultReader::operator=(ResultReader&&) noexcept = default;

const Header& ResultReader::header() const {
  return state_->header;
}
ResultFormat ResultReader::format() const {
  return state_->format;
}
const std::string& ResultReader::columns() const {
  return state_->columns_line;
}
const std::string& ResultReader::text() const {
  return state_->text;
}
Where ResultReader::where() const {
  return state_->where();
}

bool ResultReader::next(ResultLine& out) {
  if (!state_->read(state_->text)) return false;
  out = state_->format == ResultFormat::Csv
            ? read_csv_line(state_->text, state_->columns, state_->header, state_->where())
            : read_line(state_->text, state_->where());
  return true;
}

}  // namespace pipeloom::sweep
