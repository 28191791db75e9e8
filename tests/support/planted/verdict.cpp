// What an explanation made of planted causes.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "study/explain/named_causes.hpp"
#include "support/planted/plot.hpp"

namespace pipeloom::test {
namespace {

using study::explain::Cause;
using study::explain::CauseKind;

/// Other names count where the explanation lists them.
bool names(const Cause& found, const Planted& cause) {
  if (is_of_ops(cause.kind)) {
    if (!is_of_ops(found.kind)) return false;
    const study::explain::OpSet planted{cause.rank, cause.stage, cause.microbatch, cause.op_kind};
    if (study::explain::OpSet{found.rank, found.stage, found.microbatch, found.op_kind} == planted)
      return true;
    const std::string text = study::explain::text_of(planted);
    return std::find(found.equivalent.begin(), found.equivalent.end(), text) != found.equivalent.end();
  }
  if (found.kind != cause.kind) return false;
  if (cause.kind == CauseKind::Link)
    return (found.from == cause.from && found.to == cause.to) ||
           (found.from == cause.to && found.to == cause.from);
  return cause.kind != CauseKind::Hiccup || found.rank == cause.rank;
}

/// Whether the pauses that it names were there, for the most part.
bool were_paused(const PlantedRun& run, const Cause& found) {
  if (found.kind == CauseKind::Pause) return run.launches;
  if (found.kind != CauseKind::Hiccup) return false;
  Ticks lost = 0;
  const Schedule& schedule = *run.measured.schedule;
  for (std::size_t i = 0; i < schedule.num_ops(); ++i)
    if (schedule.rank_of_op(i) == *found.rank &&
        std::find(found.ops.begin(), found.ops.end(), schedule.ops()[i]) != found.ops.end())
      lost += run.lost[i];
  return 2 * lost >= *found.added;
}

/// Whether it names an op, a message or a rank that something was planted on, if by another name.
bool touches(const PlantedRun& run, const Cause& found, const Planted& cause) {
  if (is_of_ops(found.kind) != is_of_ops(cause.kind))
    return cause.kind == CauseKind::Hiccup && found.rank == cause.rank;
  if (!is_of_ops(found.kind)) return found.kind == cause.kind && (!found.rank || found.rank == cause.rank);
  const study::explain::OpSet named{found.rank, found.stage, found.microbatch, found.op_kind};
  const Schedule& schedule = *run.measured.schedule;
  for (std::size_t i = 0; i < schedule.num_ops(); ++i)
    if (named.has(schedule.rank_of_op(i), schedule.ops()[i]) &&
        meets(cause, schedule.rank_of_op(i), schedule.ops()[i]))
      return true;
  return false;
}

bool is_rest(CauseKind kind) {
  return kind == CauseKind::Costs || kind == CauseKind::Noise || kind == CauseKind::Unexplained;
}

/// A planted cause that is named, in ticks.
struct Match {
  double truth;
  double amount;
  double sd;
};

/// What the named causes say of a planted one; nothing if none does.
std::optional<JudgedAmount> amount_of(const Planted& cause, const study::explain::Explanation& found,
                                      std::vector<bool>& is_planted) {
  JudgedAmount out{cause.kind, cause.truth, 0, cause.sd, 0};
  bool named = false;
  for (std::size_t i = 0; i < found.causes.size(); ++i) {
    if (!names(found.causes[i], cause)) continue;
    named = true;
    is_planted[i] = true;
    out.amount += static_cast<double>(found.causes[i].amount);
    out.stated_sd = std::hypot(out.stated_sd, found.causes[i].sd);
  }
  return named ? std::optional(out) : std::nullopt;
}

void count(const JudgedAmount& of, const Planted& cause, Verdict& verdict) {
  verdict.amounts.push_back(of);
  const double error = std::abs(of.amount - of.truth);
  if (error <= 0.1 * std::abs(of.truth)) ++verdict.within_tenth;
  if (error <= std::max(0.1 * std::abs(of.truth), 2 * of.sd))
    ++verdict.within;
  else
    verdict.why +=
        fmt::format("  amount {:.3f} for {:.3f} of {}\n", of.amount / 1e9, of.truth / 1e9, cause.text);
}

bool in_wrong_order(const std::vector<Match>& matches) {
  for (const Match& a : matches)
    for (const Match& b : matches)
      if (a.truth > 1.1 * b.truth && a.truth - b.truth > 2 * std::max(a.sd, b.sd) && a.amount < b.amount)
        return true;
  return false;
}

}  // namespace

Verdict judge(const PlantedRun& run, const study::explain::Explanation& found) {
  Verdict verdict;
  const auto wrong = [&](const std::string& why) {
    verdict.right = false;
    verdict.why += "  " + why + "\n";
  };
  const double part = 0.005 * static_cast<double>(found.predicted);
  std::vector<Match> matches;
  std::vector<bool> is_planted(found.causes.size(), false);
  for (const Planted& cause : run.causes) {
    const auto amount = amount_of(cause, found, is_planted);
    if (std::abs(cause.truth) < std::max(part, 2 * cause.sd)) continue;
    if (!amount) {
      wrong("missed: " + cause.text);
      continue;
    }
    count(*amount, cause, verdict);
    matches.push_back({std::abs(cause.truth), std::abs(amount->amount), cause.sd});
  }
  if (in_wrong_order(matches)) wrong("order of amounts");
  for (std::size_t i = 0; i < found.causes.size(); ++i) {
    const Cause& cause = found.causes[i];
    if (is_planted[i] || is_rest(cause.kind) || were_paused(run, cause)) continue;
    if (std::abs(static_cast<double>(cause.amount)) < std::max(part, 2 * run.step_sd)) continue;
    verdict.false_name = true;
    const bool touched = std::any_of(run.causes.begin(), run.causes.end(),
                                     [&](const Planted& planted) { return touches(run, cause, planted); });
    verdict.invented = verdict.invented || !touched;
    wrong((touched ? "not planted: " : "invented: ") + cause.text);
  }
  return verdict;
}

std::string told(const PlantedRun& run, const study::explain::Explanation& found) {
  std::string text = fmt::format("{}, step {:.2f} -> {:.2f} ms, sigma {:.4f}, costs {:.3f}\n", run.shape,
                                 static_cast<double>(found.predicted) / 1e9,
                                 static_cast<double>(found.measured) / 1e9, found.sigma, found.cost_sigma);
  for (const Planted& cause : run.causes)
    text += fmt::format("  planted {:9.3f} +- {:.3f}  {}\n", cause.truth / 1e9, cause.sd / 1e9, cause.text);
  const auto list = [&](const char* what, const std::vector<Cause>& causes) {
    for (const Cause& cause : causes) {
      text += fmt::format("  {} {:9.3f} +- {:.3f}  {}", what, static_cast<double>(cause.amount) / 1e9,
                          cause.sd / 1e9, cause.text);
      for (const std::string& other : cause.equivalent) text += " | " + other;
      text += '\n';
    }
  };
  list("named  ", found.causes);
  list("hidden ", found.hidden);
  return text;
}

}  // namespace pipeloom::test
