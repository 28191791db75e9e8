#include "executor/cuda/run/range_names.hpp"

#include <fmt/format.h>

#include "sim/text.hpp"

namespace pipeloom::executor::cuda {

std::string range_name(const Schedule& schedule, std::size_t first, std::size_t last) {
  return "PP:" + entry_text(schedule, first, last);
}

std::string message_range_name(Op producer, bool is_send) {
  const bool is_forward = producer.kind() == OpKind::Forward;
  const int stage = producer.stage().value() + (is_send ? 0 : is_forward ? 1 : -1);
  return fmt::format("PP:{}{}_{}{}", stage, is_send ? "SEND" : "RECV", is_forward ? 'F' : 'B',
                     producer.microbatch().value());
}

}  // namespace pipeloom::executor::cuda
