// The doctor's checks, and what one has found out that others need (internal to the doctor).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/policies/policy_file.hpp"
#include "extender/doctor/doctor_reader.hpp"
#include "extender/doctor/doctor_values.hpp"

namespace muster::extender {

struct Patient {
  DoctorReader reader;
  DoctorOptions options;
  std::vector<Finding> findings = {};

  std::optional<int> minor = {};              // of the API server: 37 of 1.37
  std::optional<bool> led = {};               // somebody leads; nothing: not known
  std::optional<config::Policy> policy = {};  // nothing: not known, or at fault

  void Add(Finding::Kind kind, const std::string& check, std::string what,
           std::string remedy = {}) {
    findings.push_back({kind, check, std::move(what), std::move(remedy)});
  }
  void Unread(const std::string& check, const cluster::Error& error) {
    findings.push_back(DoctorReader::Unread(check, error));
  }
};

// Of a resource in Muster's namespace.
std::string InNamespace(const Patient& patient, const std::string& resource,
                        const std::string& group = "/api/v1");

// "a, b, c, d and 2 more"
std::string Listed(const std::set<std::string>& names, size_t most = 4);

// How many pods a Service of Muster's namespace leads to.
cluster::Result<size_t> ReadyAddresses(const Patient& patient, const std::string& service);

// Its condition Ready.
bool IsReadyPod(const kube::JsonView& pod);

// Muster itself (doctor_muster.cpp).
void CheckReplicas(Patient& patient);
void CheckLeader(Patient& patient);
void CheckService(Patient& patient);
void CheckCertificates(Patient& patient);
void CheckPolicy(Patient& patient);

// Its rights, and what needs more of them (doctor_rights.cpp).
void CheckRights(Patient& patient);
void CheckScaleUp(Patient& patient);  // scaleUp: provisioningRequest
void CheckPages(Patient& patient);    // kubectl muster

// Those with whom it works (doctor_surroundings.cpp).
bool CheckServer(Patient& patient);  // false: it does not answer
void CheckScheduler(Patient& patient);
void CheckSchedulerConfig(Patient& patient);
void CheckAdmission(Patient& patient);
void CheckGatedPods(Patient& patient);

}  // namespace muster::extender
