// Processes that get to know each other through a store of keys: who cannot, is of another
// version or does not come is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "frontend/pjrt/ranks/meet.h"

namespace tuff::pjrt {
namespace {

using testing::HasSubstr;

using Values = std::map<std::string, std::string>;

ErrorHandle* fail(CallbackError* on_error, const std::string& message) {
  return (*on_error)(5, message.data(), message.size());
}

ErrorHandle* get(KeyValueGetCallback_Args* args) {
  auto& values = *static_cast<Values*>(args->user_arg);
  auto it = values.find({args->key, args->key_size});
  if (it == values.end()) return fail(args->callback_error, "nobody puts it");
  args->value = new char[it->second.size()];
  std::memcpy(args->value, it->second.data(), it->second.size());
  args->value_size = it->second.size();
  args->value_deleter = [](char* value) { delete[] value; };
  return nullptr;
}

ErrorHandle* put(KeyValuePutCallback_Args* args) {
  auto& values = *static_cast<Values*>(args->user_arg);
  bool is_new = values
                    .emplace(std::string(args->key, args->key_size),
                             std::string(args->value, args->value_size))
                    .second;
  return is_new ? nullptr : fail(args->callback_error, "the key is there");
}

class MeetTest : public testing::Test {
 protected:
  KeyValues store() {
    Client_Create_Args args{};
    args.kv_get_callback = get;
    args.kv_get_user_arg = &values_;
    args.kv_put_callback = put;
    args.kv_put_user_arg = &values_;
    return KeyValues(args);
  }
  static RankInfo info(const std::string& host) {
    return {host, "m " + host, "10.0.0.1", "gloo", {"cpu"}};
  }
  // As rank 1 of 2, which comes second.
  Result<std::vector<RankInfo>> meet() { return meet_ranks(store(), "k/", 1, 2, info("b")); }

  Values values_;
};

TEST_F(MeetTest, EachKnowsAll) {
  EXPECT_FALSE(meet_ranks(store(), "k/", 0, 2, info("a")).ok());  // rank 1 has not come
  Result<std::vector<RankInfo>> infos = meet();
  ASSERT_TRUE(infos.ok()) << infos.error().message;
  ASSERT_EQ(infos->size(), 2u);
  EXPECT_EQ((*infos)[0].host, "a");
  EXPECT_EQ((*infos)[1].machine, "m b");
  EXPECT_EQ((*infos)[1].address, "10.0.0.1");
  EXPECT_EQ((*infos)[0].devices, std::vector<std::string>{"cpu"});
  EXPECT_EQ(*address_for_ranks(*infos, 0), "10.0.0.1");
  (*infos)[0].machine = (*infos)[1].machine;
  EXPECT_EQ(*address_for_ranks(*infos, 0), "127.0.0.1");
}

TEST_F(MeetTest, ARankThatDoesNotComeIsNamed) {
  EXPECT_THAT(meet().error().message, HasSubstr("Rank (0) of (2) has not begun"));
}

TEST_F(MeetTest, ARankThatCannotTakePartIsNamed) {
  Error error{ErrorCode::kNoDevice, "There is\nno device.", ""};
  EXPECT_EQ(meet_ranks(store(), "k/", 0, 2, error).error().message, error.message);
  EXPECT_EQ(meet().error().message, "Rank (0) cannot take part: There is no device.");
}

TEST_F(MeetTest, ARankOfAnotherVersionIsNamed) {
  values_["k/rank/0"] = "tuff 0.0.1, ranks 7\nwhatever";
  EXPECT_THAT(meet().error().message, HasSubstr("Rank (0) has (tuff 0.0.1, ranks 7), this one ("));
}

TEST_F(MeetTest, ARankWithAnotherEngineIsNamed) {
  RankInfo other = info("a");
  other.engine = "ucx";
  EXPECT_FALSE(meet_ranks(store(), "k/", 0, 2, other).ok());  // rank 1 has not come
  EXPECT_THAT(meet().error().message,
              HasSubstr("rank (0) is carried by (ucx), this one's by (gloo)"));
}

TEST_F(MeetTest, AMachineWithoutAnAddressIsNamed) {
  RankInfo lonely = info("c");
  lonely.address = "";
  EXPECT_THAT(address_for_ranks({info("a"), lonely}, 1).error().message, HasSubstr("TUFF_HOST"));
}

}  // namespace
}  // namespace tuff::pjrt
