#include "study/sweep/result/merge.hpp"

#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <queue>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/json/file.hpp"
#include "study/sweep/result/result.hpp"

namespace pipeloom::sweep {
namespace {

/// One of the files, at one of its lines.
struct Part {
  explicit Part(const std::string& path) : name(path), reader(path) {}

  /// Goes to the next line; false at the end. Throws InputError for a line that may not come here.
  bool advance() {
    const std::uint64_t before = line.point;
    ResultLine next;
    if (!reader.next(next)) return false;
    line = std::move(next);
    if (has_line && line.point <= before)
      throw InputError(reader.where(),
                       fmt::format("point {} comes after point {}; a result is in the order of its points, "
                                   "write this one anew",
                                   line.point, before));
    has_line = true;
    const Header& header = reader.header();
    if (line.point >= header.points)
      throw InputError(reader.where(),
                       fmt::format("point {} is beyond the {} points of the grid; write this file anew",
                                   line.point, header.points));
    if (header.shard && !header.shard->has(line.key))
      throw InputError(reader.where(), fmt::format("point {} is no part of shard {}; write this file anew",
                                                   line.point, header.shard->text()));
    return true;
  }

  [[nodiscard]] std::string described() const {
    const auto& shard = reader.header().shard;
    return shard ? fmt::format("{} (shard {})", shortened(name, 80), shard->text()) : shortened(name, 80);
  }

  std::string name;
  ResultReader reader;
  ResultLine line;
  bool has_line = false;
};

using Parts = std::vector<std::unique_ptr<Part>>;

/// Throws InputError unless both are results of the same sweep.
void require_same(const Part& first, const Part& other) {
  const auto differ = [&](std::string_view what, const std::string& a, const std::string& b) {
    throw InputError(Where{other.name},
                     fmt::format("its {} is {}, that of {} is {}; merge results of one sweep only", what,
                                 shortened(b, 80), shortened(first.name, 80), shortened(a, 80)));
  };
  const Header& a = first.reader.header();
  const Header& b = other.reader.header();
  if (a.version != b.version) differ("version", a.version, b.version);
  if (a.grid != b.grid || a.axes_json != b.axes_json || a.base_json != b.base_json)
    differ("grid", a.grid, b.grid);
  if (a.scenarios != b.scenarios)
    throw InputError(Where{other.name},
                     fmt::format("it has {}, and {} has {}; merge results of one sweep only",
                                 b.scenarios_text(), shortened(first.name, 80), a.scenarios_text()));
  if (a.points != b.points) differ("number of points", std::to_string(a.points), std::to_string(b.points));
  if (a.metrics != b.metrics) differ("list of metrics", join(a.metrics, ", "), join(b.metrics, ", "));
  if (first.reader.format() != other.reader.format()) {
    const auto name = [](const Part& part) {
      return part.reader.format() == ResultFormat::Csv ? "csv" : "jsonl";
    };
    differ("format", name(first), name(other));
  }
  if (first.reader.columns() != other.reader.columns())
    differ("line of columns", first.reader.columns(), other.reader.columns());
}

/// Throws InputError unless the shards are parts of the same division, each there once.
void require_one_division(const Parts& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& shard = parts[i]->reader.header().shard;
    for (std::size_t j = 0; j < i; ++j) {
      const auto& before = parts[j]->reader.header().shard;
      if (shard == before)
        throw InputError(
            Where{parts[i]->name},
            fmt::format("{} is in {} already; give every part once",
                        shard ? "shard " + shard->text() : "the whole grid", shortened(parts[j]->name, 80)));
      if (!shard || !before || shard->count != before->count)
        throw InputError(
            Where{parts[i]->name},
            fmt::format("it holds {} and {} holds {}; give the shards of one division",
                        shard ? "shard " + shard->text() : "the whole grid", shortened(parts[j]->name, 80),
                        before ? "shard " + before->text() : "the whole grid"));
    }
  }
}

Parts open_parts(const std::vector<std::string>& files) {
  Parts parts;
  for (const std::string& file : files) parts.push_back(std::make_unique<Part>(file));
  for (const auto& part : parts) require_same(*parts.front(), *part);
  require_one_division(parts);
  return parts;
}

/// Points that no file has, counted while the others pass by.
class Gaps {
 public:
  /// The points from `begin` to `end` - 1 are missing.
  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    if (missing_ == 0) first_ = begin;
    missing_ += end - begin;
  }
  void require_none(const Parts& parts) const {
    if (missing_ == 0) return;
    throw InputError(Where{parts.front()->name},
                     fmt::format("incomplete: {} of {} points are missing, the first is {}; {}", missing_,
                                 parts.front()->reader.header().points, first_, advice(parts)));
  }

 private:
  /// Names the shards that are missing, or else the file that ends before the point.
  [[nodiscard]] std::string advice(const Parts& parts) const {
    const auto& division = parts.front()->reader.header().shard;
    std::string absent;
    int count = 0;
    for (int i = 1; division && i <= division->count; ++i) {
      bool found = false;
      for (const auto& part : parts) found = found || part->reader.header().shard->index == i;
      if (!found && ++count <= kMostNamed)
        absent += fmt::format("{}{}/{}", absent.empty() ? "" : ", ", i, division->count);
    }
    if (count > 0)
      return fmt::format("give the files of all shards: there is none of {}{}", absent,
                         count > kMostNamed ? ", ..." : "");
    std::string ends;
    for (const auto& part : parts) {
      if (part->has_line && part->line.point > first_) continue;
      ends += (ends.empty() ? "" : ", ") + part->described();
      if (++count == kMostNamed) break;
    }
    if (ends.empty())
      return "lines are missing within a file: `pipeloom sweep --resume` finds and writes them";
    return fmt::format("{} {} before it: go on with `pipeloom sweep --resume`", ends,
                       count == 1 ? "ends" : "end");
  }

  static constexpr int kMostNamed = 5;
  std::uint64_t missing_ = 0;
  std::uint64_t first_ = 0;
};

/// By point, the earlier file first.
struct Later {
  bool operator()(const Part* a, const Part* b) const { return a->line.point > b->line.point; }
};

void write_merged(std::ostream& out, Parts& parts) {
  Header header = parts.front()->reader.header();
  header.shard.reset();
  const bool is_csv = parts.front()->reader.format() == ResultFormat::Csv;
  out << (is_csv ? "# " : "") << header.line() << '\n';
  if (is_csv) out << parts.front()->reader.columns() << '\n';

  std::priority_queue<Part*, std::vector<Part*>, Later> queue;
  for (const auto& part : parts)
    if (part->advance()) queue.push(part.get());
  Gaps gaps;
  std::uint64_t expected = 0;
  const Part* before = nullptr;
  while (!queue.empty()) {
    Part* part = queue.top();
    queue.pop();
    const std::uint64_t point = part->line.point;
    if (point < expected)
      throw InputError(part->reader.where(), fmt::format("point {} is in {} already; give every part once",
                                                         point, shortened(before->name, 80)));
    gaps.add(expected, point);
    expected = point + 1;
    before = part;
    out << part->reader.text() << '\n';
    if (part->advance()) queue.push(part);
  }
  gaps.add(expected, header.points);
  gaps.require_none(parts);
}

}  // namespace

MergeSummary merge(const std::vector<std::string>& files, const std::string& out, bool force) {
  if (files.empty()) throw InputError("there is nothing to merge; name the files of all shards");
  Parts parts = open_parts(files);
  io::write_file(out, force ? io::Overwrite::Yes : io::Overwrite::No,
                 [&parts](std::ostream& stream) { write_merged(stream, parts); });
  return {parts.front()->reader.header().points, static_cast<int>(parts.size())};
}

}  // namespace pipeloom::sweep
