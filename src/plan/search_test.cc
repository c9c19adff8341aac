#include "plan/search.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "workload/model.h"

namespace weft::plan {
namespace {

Estimator make(const std::string& model, const std::string& card) {
  return *Estimator::make(*workload::load_model(model), *machine_of_card(card), *software(kDefaultSoftware), workload::Precision::kBf16);
}
bool same(const workload::Strategy& a, const workload::Strategy& b) {
  return a.tp == b.tp && a.pp == b.pp && a.dp == b.dp && a.cp == b.cp && a.ep == b.ep && a.virtual_stages == b.virtual_stages &&
         a.zero == b.zero && a.micro_batch == b.micro_batch && a.sequence_parallel == b.sequence_parallel && a.recompute == b.recompute &&
         a.schedule == b.schedule;
}

// Pruning and threads change what is priced, never what is found.
TEST(Search, PrunedFindsExactlyTheExhaustiveBestOnFiftySpaces) {
  Random random(11);
  int found = 0, saved = 0;
  for (int i = 0; i < 50; ++i) {
    auto pick = [&](std::initializer_list<const char*> of) {
      return *(of.begin() + random.integer(0, static_cast<std::int64_t>(of.size()) - 1));
    };
    Estimator e = make(pick({"llama-2-7b", "llama-3-8b", "llama-3-70b", "mixtral-8x7b", "gpt3-175b"}),
                       pick({"H100-SXM5", "A100-SXM4", "GB200-B200"}));
    SearchSpace s;
    s.cards = 1 << random.integer(3, 8), s.global_batch = s.cards << random.integer(0, 3), s.sequence = 2048 << random.integer(0, 2),
    s.keep = 5;
    s.prune = false, s.threads = 1;
    SearchResult all = search(e, s);
    s.prune = true, s.threads = 3;
    SearchResult fast = search(e, s);
    ASSERT_EQ(all.best.size(), fast.best.size());
    for (std::size_t k = 0; k < all.best.size(); ++k) {
      EXPECT_TRUE(same(all.best[k].strategy, fast.best[k].strategy)) << i << " " << k;
      EXPECT_EQ(all.best[k].estimate.time.step, fast.best[k].estimate.time.step);
    }
    found += !all.best.empty(), saved += fast.priced < all.priced;
    EXPECT_LE(fast.priced, all.priced);
  }
  EXPECT_GT(found, 30);
  EXPECT_GT(saved, 20);
}

TEST(Search, EveryAnswerIsAValidStrategyThatFits) {
  Estimator e = make("deepseek-v3", "GB200-B200");
  SearchSpace s;
  s.cards = 576, s.global_batch = 4608;
  SearchResult r = search(e, s);
  ASSERT_FALSE(r.best.empty());
  for (const Candidate& c : r.best) {
    EXPECT_TRUE(workload::validate(e.model(), c.strategy).has_value());
    EXPECT_EQ(c.strategy.world(), 576);
    EXPECT_LE(c.estimate.memory.total, e.memory_limit());
    EXPECT_EQ(c.estimate.time.step, e.estimate(c.strategy).time.step);
  }
}

TEST(Search, SaysWhatIsMissing) {
  SearchSpace s;
  s.cards = 8, s.global_batch = 64;
  SearchResult r = search(make("llama-3-405b", "H100-SXM5"), s);
  EXPECT_TRUE(r.best.empty());
  EXPECT_NE(r.first_constraint.find("memory: the smallest of "), std::string::npos) << r.first_constraint;
  EXPECT_NE(r.first_constraint.find("on a card of 80.0 GB; use more cards"), std::string::npos) << r.first_constraint;
  EXPECT_GT(r.nearest.estimate.memory.total, 80e9);
  s.cards = 37, s.global_batch = 5;
  r = search(make("llama-3-8b", "H100-SXM5"), s);
  EXPECT_TRUE(r.best.empty());
  EXPECT_EQ(r.first_constraint,
            "no strategy divides: 37 cards, 32 layers, 32 heads, a batch of 5 sequences; change the cards or the batch");
}

}  // namespace
}  // namespace weft::plan
