#include <algorithm>
#include <vector>

#include <pipeloom/op.hpp>
#include "sim/kinds.hpp"
#include "support/catch.hpp"

namespace pipeloom::op_test {

TEST_CASE("an op keeps its kind, stage and microbatch up to the largest index") {
  const std::int32_t most = kMaxIndex - 1;
  for (const OpKind kind : kAllOpKinds)
    for (const std::int32_t s : {0, 1, most})
      for (const std::int32_t k : {0, 1, most}) {
        const Op op(kind, Stage(s), Microbatch(k));
        CHECK(op.kind() == kind);
        CHECK(op.stage() == Stage(s));
        CHECK(op.microbatch() == Microbatch(k));
        CHECK_FALSE(op.joined());
      }
}

TEST_CASE("joined says where an op stands, not which op it is") {
  const Op op = backward(Stage(3), Microbatch(7));
  const Op joined = op.with_joined(true);
  CHECK(joined.joined());
  CHECK(joined == op);
  CHECK(joined.key() == op.key());
  CHECK_FALSE(joined < op);
  CHECK_FALSE(op < joined);
  CHECK(joined.stage() == Stage(3));
  CHECK(joined.kind() == OpKind::Backward);
  CHECK_FALSE(joined.with_joined(false).joined());
}

TEST_CASE("ops are ordered by kind, stage and microbatch") {
  std::vector<Op> ops = {backward_weight(Stage(0), Microbatch(0)), forward(Stage(1), Microbatch(0)),
                         backward(Stage(0), Microbatch(0)),        forward(Stage(0), Microbatch(1)),
                         backward_input(Stage(0), Microbatch(0)),  forward(Stage(0), Microbatch(0))};
  std::sort(ops.begin(), ops.end());
  const std::vector<Op> expected = {
      forward(Stage(0), Microbatch(0)),        forward(Stage(0), Microbatch(1)),
      forward(Stage(1), Microbatch(0)),        backward(Stage(0), Microbatch(0)),
      backward_input(Stage(0), Microbatch(0)), backward_weight(Stage(0), Microbatch(0))};
  CHECK(ops == expected);
}

TEST_CASE("letters are PyTorch's, and B and I carry the gradient") {
  CHECK(letter_of(OpKind::Forward) == 'F');
  CHECK(letter_of(OpKind::Backward) == 'B');
  CHECK(letter_of(OpKind::BackwardInput) == 'I');
  CHECK(letter_of(OpKind::BackwardWeight) == 'W');
  CHECK_FALSE(carries_gradient(OpKind::Forward));
  CHECK(carries_gradient(OpKind::Backward));
  CHECK(carries_gradient(OpKind::BackwardInput));
  CHECK_FALSE(carries_gradient(OpKind::BackwardWeight));
}

TEST_CASE("an op is one 64-bit word") {
  CHECK(sizeof(Op) == 8);
}

}  // namespace pipeloom::op_test
