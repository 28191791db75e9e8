// Suite files.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include "sim/base/text_tools.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/json/file.hpp"
#include "study/run/run_status.hpp"
#include "study/suite/suite.hpp"
#include "study/text/result_text.hpp"

namespace pipeloom::study {

namespace {

using io::Value;
using io::ValueKind;

const std::vector<std::string> kStatuses = {"ok", "illegal", "deadlock", "over_memory"};

const Value& require(const Value& value, ValueKind kind, const std::string& what) {
  if (!value.is(kind))
    throw InputError(value.where(),
                     fmt::format("{} is {}; it must be {}", what, value.described(), io::name_of(kind)));
  return value;
}

const Value& member(const Value& object, const char* key, ValueKind kind) {
  const Value* value = object.find(key);
  if (value == nullptr) throw InputError(object.where(), fmt::format("\"{}\" is missing; add it", key));
  return require(*value, kind, fmt::format("\"{}\"", key));
}

void require_keys(const Value& object, const std::string& what, const std::vector<std::string>& valid) {
  for (std::size_t i = 0; i < object.keys().size(); ++i)
    if (std::find(valid.begin(), valid.end(), object.keys()[i].name) == valid.end())
      throw InputError::unknown_name(object.where_key(i), "key of " + what,
                                     shortened(object.keys()[i].name, 64), valid);
}

void require_version(const Value& root) {
  const Value& version = member(root, "schema_version", ValueKind::Number);
  if (version.text() != "1")
    throw InputError(version.where(),
                     fmt::format("schema_version is {}; this program reads version 1", version.described()));
}

double read_tolerance_number(const Value& value, const std::string& what) {
  require(value, ValueKind::Number, what);
  // A number too small for a double is 0, as everywhere.
  const double number = std::strtod(value.text().c_str(), nullptr);
  if (!(number >= 0))
    throw InputError(value.where(), fmt::format("{} is {}; it must be 0 or more", what, value.described()));
  return number;
}

std::map<std::string, Tolerance> read_tolerances(const Value& object) {
  std::map<std::string, Tolerance> out;
  require(object, ValueKind::Object, "\"tolerance\"");
  for (std::size_t i = 0; i < object.keys().size(); ++i) {
    const std::string name(find_metric(object.keys()[i].name, object.where_key(i)).name);
    const Value& row = require(object.items()[i], ValueKind::Object, "the tolerance of " + name);
    require_keys(row, "a tolerance", {"abs", "rel"});
    if (const Value* value = row.find("abs")) out[name].absolute = read_tolerance_number(*value, "\"abs\"");
    if (const Value* value = row.find("rel")) out[name].relative = read_tolerance_number(*value, "\"rel\"");
  }
  return out;
}

/// The worst values that metrics of the suite may have.
std::map<std::string, double> read_limits(const Value& object, const std::vector<std::string>& metrics) {
  std::map<std::string, double> out;
  require(object, ValueKind::Object, "\"limits\"");
  for (std::size_t i = 0; i < object.keys().size(); ++i) {
    const std::string name(find_metric(object.keys()[i].name, object.where_key(i)).name);
    if (std::find(metrics.begin(), metrics.end(), name) == metrics.end())
      throw InputError(
          object.where_key(i),
          fmt::format("{} has a limit, but the suite does not measure it; add it to \"metrics\"", name));
    const Value& number = require(object.items()[i], ValueKind::Number, "the limit of " + name);
    out[name] = std::strtod(number.text().c_str(), nullptr);
  }
  return out;
}

/// Reads the cases of one suite.
class CaseReader {
 public:
  explicit CaseReader(const Suite& suite) : suite_(suite) {}

  void read(const Value& item) {
    require(item, ValueKind::Object, "a case");
    require_keys(item, "a case", {"name", "config", "schedule", "set", "expect", "limits", "glob"});
    if (item.find("glob") != nullptr)
      read_glob(item);
    else
      read_named(item);
  }

  std::vector<SuiteCase> take() { return std::move(cases_); }

 private:
  void read_named(const Value& item) {
    SuiteCase one;
    const Value* config = item.find("config");
    if (const Value* schedule = item.find("schedule"))
      one.schedule_file = path_of(require(*schedule, ValueKind::String, "\"schedule\""));
    if (config != nullptr && config->is(ValueKind::String)) {
      one.config_file = path_of(*config);
      keep_broken(one, [&] { one.config = parse(one.config_file, load(one.config_file, config->where())); });
    } else if (config != nullptr) {
      require(*config, ValueKind::Object, "\"config\" (a configuration, or the path of one)");
      one.config = io::Document(*config);
    } else if (one.schedule_file.empty()) {
      throw InputError(item.where(), "a case needs \"config\", \"schedule\" or \"glob\"; give one");
    }
    add(item, member(item, "name", ValueKind::String).text(), std::move(one));
  }

  void read_glob(const Value& item) {
    require_keys(item, "a case with \"glob\"", {"glob", "set", "expect", "limits"});
    const Value& glob = member(item, "glob", ValueKind::String);
    const std::filesystem::path pattern = path_of(glob);
    std::vector<std::filesystem::path> found = files_in(pattern.parent_path(), glob);
    std::erase_if(found, [&pattern](const std::filesystem::path& path) {
      return !matches_glob(pattern.filename().string(), path.filename().string());
    });
    if (found.empty())
      throw InputError(glob.where(), fmt::format("'{}' matches no file; only the last part may hold * and ?",
                                                 shortened(glob.text(), 80)));
    std::sort(found.begin(), found.end());
    for (const auto& path : found) {
      require_text(path.string(), glob.where());
      add(item, path.stem().string(), read_matched(path.string(), glob.where()));
    }
  }

  /// Regular files, and symbolic links to them; links that lead nowhere are left out.
  static std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder, const Value& glob) {
    std::vector<std::filesystem::path> found;
    std::error_code error;
    std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      std::error_code none;
      if (entry->is_regular_file(none)) found.push_back(entry->path());
    }
    if (error)
      throw InputError(
          glob.where(),
          fmt::format("cannot look into the folder of '{}': {}; check the path and its permissions",
                      shortened(glob.text(), 80), error.message()));
    return found;
  }

  /// A file that a pattern found: a schedule if it reads as one, else a configuration.
  static SuiteCase read_matched(const std::string& path, const Where& where) {
    SuiteCase one;
    keep_broken(one, [&] { read_matched_into(one, path, where); });
    return one;
  }

  static void read_matched_into(SuiteCase& one, const std::string& path, const Where& where) {
    const std::string text = load(path, where);
    const io::Format* format = io::format_by_content(text);
    io::Document document;
    if (format == nullptr || format->name == "json") document = parse(path, text);
    if ((format != nullptr && format->name != "json") || io::is_schedule_file(document.root())) {
      one.schedule_file = path;
    } else {
      one.config_file = path;
      one.config = std::move(document);
    }
  }

  /// Keeps an error in a file of one case in `one.broken`, so that the other cases still have results.
  template <class Read>
  static void keep_broken(SuiteCase& one, const Read& read) {
    if (one.broken) return;
    try {
      read();
    } catch (const InputError& error) {
      one.broken = error;
    }
  }

  /// A value without effect is a mistake.
  static void require_not_of_schedule(const std::string& key, const Where& where) {
    const std::vector<std::string> of_schedule = {"schedule", "ranks", "microbatches", "chunks",
                                                  "options.group_size"};
    if (std::find(of_schedule.begin(), of_schedule.end(), key) != of_schedule.end())
      throw InputError(where, fmt::format("the schedule file says {} itself; leave it out", key));
  }

  /// Names of cases are written into JSON and XML.
  static void require_text(const std::string& path, const Where& where) {
    if (sweep::valid_utf8(path) != path.size())
      throw InputError(where, fmt::format("it matches '{}', whose name is not UTF-8; rename the file",
                                          shortened(path, 80)));
  }

  void add(const Value& item, const std::string& name, SuiteCase one) {
    one.name = name;
    one.where = item.where();
    if (name.empty() || !names_.insert(name).second)
      throw InputError(item.where(),
                       fmt::format("the case name '{}' is {}; give every case a name of its own",
                                   shortened(name, 64), name.empty() ? "empty" : "there twice"));
    keep_broken(one, [&] { io::inline_costs_file(one.config); });
    if (const Value* set = item.find("set"); set != nullptr && !one.broken) {
      require(*set, ValueKind::Object, "\"set\"");
      for (std::size_t i = 0; i < set->keys().size(); ++i) {
        if (!one.schedule_file.empty()) require_not_of_schedule(set->keys()[i].name, set->where_key(i));
        one.config.set(set->keys()[i].name, set->items()[i], set->where_key(i).text());
      }
    }
    if (const Value* expect = item.find("expect")) {
      one.expect = require(*expect, ValueKind::String, "\"expect\"").text();
      if (std::find(kStatuses.begin(), kStatuses.end(), one.expect) == kStatuses.end())
        throw InputError::unknown_name(expect->where(), "status", shortened(one.expect, 64), kStatuses);
    }
    one.limits = suite_.limits;
    if (const Value* limits = item.find("limits"))
      for (const auto& [metric, worst] : read_limits(*limits, suite_.metrics)) one.limits[metric] = worst;
    cases_.push_back(std::move(one));
  }

  [[nodiscard]] std::string path_of(const Value& value) const {
    return io::relative_to(suite_.path, value.text());
  }

  /// A missing file is an error of the suite; an error inside a file is the file's.
  static std::string load(const std::string& path, const Where& named_at) {
    try {
      return io::read_file(path, io::kMaxDocumentBytes);
    } catch (const InputError& error) {
      throw InputError(named_at, fmt::format("'{}': {}", shortened(path, 80), error.what()));
    }
  }

  static io::Document parse(const std::string& path, const std::string& text) {
    return io::Document::parse(text, path);
  }

  const Suite& suite_;
  std::vector<SuiteCase> cases_;
  std::set<std::string> names_;
};

}  // namespace

Suite read_suite(const std::string& path) {
  const io::Document document = io::Document::parse(io::read_file(path, io::kMaxDocumentBytes), path);
  return parse_suite(document, path);
}

Suite parse_suite(const io::Document& document, const std::string& path) {
  const Value& root = require(document.root(), ValueKind::Object, "a suite");
  require_keys(root, "a suite", {"schema_version", "baseline", "metrics", "tolerance", "limits", "cases"});
  require_version(root);
  Suite out;
  out.path = path;
  out.baseline_path = io::relative_to(path, member(root, "baseline", ValueKind::String).text());
  for (const Value& item : member(root, "metrics", ValueKind::Array).items()) {
    const std::string_view name =
        find_metric(require(item, ValueKind::String, "a metric").text(), item.where()).name;
    if (std::find(out.metrics.begin(), out.metrics.end(), name) != out.metrics.end())
      throw InputError(item.where(), fmt::format("the metric {} is there twice; leave one out", name));
    out.metrics.emplace_back(name);
  }
  if (const Value* tolerance = root.find("tolerance")) out.tolerance = read_tolerances(*tolerance);
  if (const Value* limits = root.find("limits")) out.limits = read_limits(*limits, out.metrics);
  CaseReader cases(out);
  for (const Value& item : member(root, "cases", ValueKind::Array).items()) cases.read(item);
  out.cases = cases.take();
  return out;
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  // Greedy with one point to return to: after the last star.
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace pipeloom::study
