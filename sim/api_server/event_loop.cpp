#include "sim/api_server/event_loop.hpp"

#include <algorithm>

namespace muster::sim {

using cluster::Time;

void EventLoop::Push(Time at, Task task, bool background) {
  if (at == Time::Never()) return;
  if (!background) ++foreground_;
  Event event{std::max(at, now_), next_order_++, background, std::move(task)};
  if (event.at == now_) {
    present_.push_back(std::move(event));
    return;
  }
  heap_.push_back(std::move(event));
  std::push_heap(heap_.begin(), heap_.end());
}

bool EventLoop::RunOne() {
  const Event* next = Next();
  if (next == nullptr) return false;
  Event event;
  if (!present_.empty() && next == &present_.front()) {
    event = std::move(present_.front());
    present_.pop_front();
  } else {
    std::pop_heap(heap_.begin(), heap_.end());
    event = std::move(heap_.back());
    heap_.pop_back();
  }
  now_ = std::max(now_, event.at);
  if (!event.background) --foreground_;
  ++events_run_;
  event.task();
  if (after_event_) after_event_();
  return true;
}

int64_t EventLoop::RunUntil(Time time) {
  const int64_t before = events_run_;
  while (NextDue() <= time && RunOne()) {
  }
  if (time != Time::Never()) now_ = std::max(now_, time);
  return events_run_ - before;
}

bool EventLoop::RunUntilIdle(Time limit) {
  while (!idle()) {
    if (NextDue() > limit || !RunOne()) return idle();
  }
  return true;
}

bool EventLoop::RunDue(Time now, int64_t most) {
  now_ = std::max(now_, now);
  for (int64_t i = 0; i < most && NextDue() <= now_; ++i) RunOne();
  return NextDue() > now_;
}

struct Timer::State {
  EventLoop& loop;
  const bool background;
  const EventLoop::Task task;
  Time due = Time::Never();     // when it shall fire
  Time posted = Time::Never();  // the earliest event of it in the loop
};

Timer::Timer(EventLoop& loop, bool background, EventLoop::Task task)
    : state_(std::make_shared<State>(State{loop, background, std::move(task)})) {}

Timer::~Timer() { Stop(); }

Time Timer::due() const { return state_->due; }

void Timer::Set(Time at) {
  State& state = *state_;
  if (!state.background) {
    state.loop.foreground_ += (at != Time::Never() ? 1 : 0) - (state.due != Time::Never() ? 1 : 0);
  }
  state.due = at;
  // A later event need not be posted: the earlier one, when it comes, sees that it is too early.
  if (at < state.posted) PostWake(state_, at);
}

void Timer::PostWake(const std::shared_ptr<State>& state, Time at) {
  state->posted = at;
  state->loop.PostBackground(at, [state] { Wake(state); });
}

void Timer::Wake(const std::shared_ptr<State>& state) {
  const Time now = state->loop.now();
  if (state->posted <= now) state->posted = Time::Never();
  if (state->due > now) {
    if (state->due < state->posted) PostWake(state, state->due);
    return;
  }
  state->due = Time::Never();
  if (!state->background) --state->loop.foreground_;
  state->task();
}

}  // namespace muster::sim
