#include "schedules/megatron_groups.hpp"

#include <fmt/format.h>

#include <utility>

#include "schedules/interleaved_order.hpp"
#include "schedules/nearest.hpp"
#include "sim/messages/message_plans.hpp"

namespace pipeloom::schedules {
namespace {

bool group_fits(int ranks, int microbatches, int group) {
  if (group < ranks || group > microbatches) return false;
  const int rest = microbatches % group;
  return rest == 0 || rest >= ranks;
}

/// "group_size = 4 must be from ranks to microbatches; try 8 or 12 microbatches, or group_size = 5", or "".
std::string group_refusal(int p, int m, int n) {
  if (group_fits(p, m, n)) return "";
  std::string text =
      n < p || n > m
          ? fmt::format("group_size = {} must be from ranks to microbatches", n)
          : fmt::format("the last group has {} microbatches, and must have 0 or at least {}", m % n, p);
  const auto ms = nearest(m, {1, kMaxIndex}, [&](int other) { return group_fits(p, other, n); });
  if (!ms.empty()) text += try_text(ms) + " microbatches";
  const auto ns = nearest(n, {1, kMaxIndex}, [&](int other) { return group_fits(p, m, other); });
  if (!ns.empty()) text += fmt::format("{} group_size = {}", ms.empty() ? "; try" : ", or", ns.back());
  return text;
}

std::string refusal_of(const Params& params) {
  if (params.ranks < 2) return "it interleaves on 2 ranks or more; try 2";
  if (params.chunks < 2) return "it interleaves 2 chunks or more; try chunks = 2, or the schedule 1f1b";
  if (!has_equal_groups(params)) return "it has one group size; give a number";
  return group_refusal(params.ranks, params.microbatches, group_size_of(params));
}

}  // namespace

bool takes_megatron_groups(const Params& params) {
  return has_equal_groups(params) && group_fits(params.ranks, params.microbatches, group_size_of(params));
}

std::optional<Program> megatron_interleaved_messages(const Params& params,
                                                     std::shared_ptr<const Schedule> schedule,
                                                     MessageStyle style) {
  if (!takes_megatron_groups(params)) return std::nullopt;
  if (style == MessageStyle::Blocking) return megatron_interleaved_blocking(std::move(schedule));
  return megatron_interleaved_overlap(
      std::move(schedule), style == MessageStyle::OverlapFlush ? OverlapFlush::Yes : OverlapFlush::No);
}

std::function<void(Params&)> megatron_groups(std::string alias) {
  return [alias = std::move(alias)](Params& params) {
    const std::string reason = refusal_of(params);
    if (reason.empty()) return;
    std::string given = fmt::format("ranks = {}, chunks = {}, ", params.ranks, params.chunks);
    if (params.options.group_size)
      given += fmt::format("group_size = {}, ", params.options.group_size->text());
    throw ScheduleError(fmt::format("{} with {}microbatches = {}: Megatron-LM refuses this: {}", alias, given,
                                    params.microbatches, reason));
  };
}

}  // namespace pipeloom::schedules
