#include "sim/io/traces/kineto/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/traces/trace_readers.hpp"

namespace pipeloom::io {
namespace {

/// The number of a rank in the name of a process or thread: 3 of "rank 3", "GPU: 3", "stage-3".
std::optional<std::int32_t> rank_in_label(std::string_view label) {
  constexpr std::array<std::string_view, 6> kWords = {"rank", "gpu", "device", "stage", "worker", "cuda"};
  std::string text(label);
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const std::string_view word : kWords) {
    const std::size_t at = text.find(word);
    if (at == std::string::npos) continue;
    const std::size_t digits = text.find_first_not_of(" :_-#=", at + word.size());
    if (digits == std::string::npos) continue;
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + digits, text.data() + text.size(), value);
    if (error == std::errc() && value >= 0 && value < kMaxIndex) return value;
  }
  return std::nullopt;
}

/// Numbers from names, if each has one of its own.
std::optional<std::vector<std::int32_t>> ranks_of(const std::vector<std::string>& labels) {
  std::vector<std::int32_t> ranks;
  for (const std::string& label : labels)
    if (const auto rank = rank_in_label(label)) ranks.push_back(*rank);
  const std::set<std::int32_t> unique(ranks.begin(), ranks.end());
  if (ranks.size() == labels.size() && unique.size() == labels.size()) return ranks;
  return std::nullopt;
}

/// Numbers that the names are, if they are 0, 1, ... in some order.
std::optional<std::vector<std::int32_t>> counted(const std::vector<std::string>& names) {
  std::vector<std::int32_t> ranks;
  std::set<std::int32_t> unique;
  for (const std::string& name : names) {
    std::int32_t value = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
    ranks.push_back(value);
    unique.insert(value);
  }
  const bool from_zero = unique.size() == names.size() && *unique.begin() == 0 &&
                         *unique.rbegin() == static_cast<std::int32_t>(names.size()) - 1;
  return from_zero ? std::optional(ranks) : std::nullopt;
}

/// The lowest stage that a row names; kUnknown if it names none.
std::int32_t lowest_stage(const KinetoRow& row) {
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
  for (const KinetoRange& range : row.ranges)
    for (const TraceOp& op : range.meaning.ops)
      if (op.stage != kUnknown) lowest = std::min(lowest, op.stage);
  return lowest == std::numeric_limits<std::int32_t>::max() ? kUnknown : lowest;
}

/// Of the row's ops; kUnknown is among them where one names none.
std::set<std::int32_t> stages_of(const KinetoRow& row) {
  std::set<std::int32_t> stages;
  for (const KinetoRange& range : row.ranges)
    for (const TraceOp& op : range.meaning.ops) stages.insert(op.stage);
  return stages;
}

std::int32_t rank_of_ranges(const KinetoRow& row) {
  for (const KinetoRange& range : row.ranges)
    if (range.meaning.rank != kUnknown) return range.meaning.rank;
  return kUnknown;
}

/// Finds which rows of a record are one rank.
class PartFinder {
 public:
  explicit PartFinder(const KinetoRecord& record)
      : record_(record),
        on_device_(has_ops(record.device)),
        rows_(on_device_ ? record.device : record.host) {}

  [[nodiscard]] bool on_device() const { return on_device_; }

  std::vector<KinetoPart> find() {
    std::map<std::string, std::vector<KinetoRowName>> by_process;
    for (const auto& [name, row] : rows_)
      if (row.num_ops > 0) by_process[name.first].push_back(name);
    std::vector<KinetoPart> parts;
    for (const auto& [process, names] : by_process)
      add_process(process, names, by_process.size() == 1, parts);
    if (parts.size() == 1) {
      take_all(parts.front());
      parts.front().rank = rank_of_one(*parts.front().ops);
    } else if (parts.size() > 1) {
      name_ranks(parts, by_process.size());
    }
    return parts;
  }

 private:
  static bool has_ops(const KinetoRows& rows) {
    return std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.second.num_ops > 0; });
  }
  [[nodiscard]] const KinetoRow* row(const KinetoRowName& name) const { return &rows_.at(name); }

  /// Numbers of threads none of which runs a stage of another, in the order of their stages.
  [[nodiscard]] std::optional<std::vector<std::int32_t>> by_stages(
      const std::vector<KinetoRowName>& names) const {
    std::set<std::int32_t> seen;
    std::set<std::int32_t> lowest;
    for (const KinetoRowName& name : names) {
      const std::set<std::int32_t> stages = stages_of(*row(name));
      for (const std::int32_t stage : stages)
        if (stage == kUnknown || !seen.insert(stage).second) return std::nullopt;
      lowest.insert(*stages.begin());
    }
    std::vector<std::int32_t> ranks;
    for (const KinetoRowName& name : names)
      ranks.push_back(static_cast<std::int32_t>(
          std::distance(lowest.begin(), lowest.find(*stages_of(*row(name)).begin()))));
    return ranks;
  }

  /// Its threads are ranks where their names say so, or, of the only process of a file, where each runs stages of its own; else it is one.
  void add_process(const std::string& process, const std::vector<KinetoRowName>& names, bool is_only,
                   std::vector<KinetoPart>& parts) const {
    std::vector<std::string> labels;
    std::vector<std::string> ids;
    for (const KinetoRowName& name : names) {
      const auto found = record_.thread_names.find(name);
      labels.push_back(found != record_.thread_names.end() ? found->second : name.second);
      ids.push_back(name.second);
    }
    auto ranks = names.size() > 1 ? ranks_of(labels) : std::nullopt;
    if (!ranks && names.size() > 1 && !record_.has_header) ranks = counted(ids);
    if (!ranks && is_only && !record_.has_header) ranks = by_stages(names);
    for (std::size_t i = 0; ranks && i < names.size(); ++i)
      parts.push_back({(*ranks)[i], names[i], row(names[i]), {row(names[i])}, {row(names[i])}});
    if (ranks) return;
    KinetoPart& part = parts.emplace_back();
    part.name.first = process;
    for (const auto& [name, one] : rows_)
      if (name.first == process) part.rows.push_back(&one);
    part.ops = busiest(part.rows);
    for (const auto& [name, one] : record_.host)
      if (on_device_ ? lowest_stage(one) == lowest_stage(*part.ops) : name.first == process)
        part.host.push_back(&one);
  }

  /// The only rank of a file has all of it.
  void take_all(KinetoPart& part) const {
    part.rows.clear();
    part.host.clear();
    for (const auto& [name, one] : rows_) part.rows.push_back(&one);
    for (const auto& [name, one] : record_.host) part.host.push_back(&one);
  }

  [[nodiscard]] std::int32_t rank_of_one(const KinetoRow& ops) const {
    if (const std::int32_t rank = rank_of_ranges(ops); rank != kUnknown) return rank;
    if (record_.rank != kUnknown) return record_.rank;
    if (const auto named = number_in_name(record_.path, "rank")) return *named;
    if (lowest_stage(ops) != kUnknown) return kUnknown;  // stages tell
    throw InputError(Where{record_.path},
                     "neither distributedInfo nor the name of the file says which rank this is; name it "
                     "rank0.json, rank1.json and so on");
  }

  /// Of several: by their ranges, by the names of their processes, by their stages.
  void name_ranks(std::vector<KinetoPart>& parts, std::size_t num_processes) const {
    std::vector<std::string> labels;
    std::vector<std::string> ids;
    bool is_named = true;
    bool names_stages = true;
    for (KinetoPart& part : parts) {
      const auto found = record_.process_names.find(part.name.first);
      labels.push_back(found != record_.process_names.end() ? found->second : part.name.first);
      ids.push_back(part.name.first);
      if (part.rank == kUnknown) part.rank = rank_of_ranges(*part.ops);
      is_named = is_named && part.rank != kUnknown;
      names_stages = names_stages && lowest_stage(*part.ops) != kUnknown;
    }
    if (is_named) return;
    auto ranks = ranks_of(labels);
    if (!ranks) ranks = counted(ids);
    if (!ranks && !names_stages)
      throw InputError(
          Where{record_.path},
          fmt::format(
              "it holds {} processes with ops of a pipeline, and nothing says which rank each is: give "
              "the files of the ranks before they were merged, or call the processes rank 0, rank 1 and "
              "so on",
              num_processes));
    if (!ranks)
      std::stable_sort(parts.begin(), parts.end(), [](const KinetoPart& a, const KinetoPart& b) {
        return lowest_stage(*a.ops) < lowest_stage(*b.ops);
      });
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i].rank = ranks ? (*ranks)[i] : static_cast<std::int32_t>(i);
  }

  const KinetoRecord& record_;
  bool on_device_;
  const KinetoRows& rows_;
};

}  // namespace

const KinetoRow* busiest(const std::vector<const KinetoRow*>& rows) {
  const KinetoRow* found = nullptr;
  for (const KinetoRow* row : rows)
    if (row->num_ops > (found != nullptr ? found->num_ops : 0)) found = row;
  return found;
}

KinetoParts parts_of(const KinetoRecord& record) {
  PartFinder finder(record);
  return {finder.find(), finder.on_device()};
}

}  // namespace pipeloom::io
