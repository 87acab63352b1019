package suite

import "testing"

// Another process has made it, so that Muster knows of its PodTemplates by the request alone.
func TestNothingIsLeftOfAProvisioningRequestThatIsDeletedAfterARestart(t *testing.T) {
	slow(t)
	e := asking(t)
	train, asked := e.nodesOrdered("train")
	e.muster.Process.Kill()
	<-e.muster.Process.Done()
	e.must(e.muster.Restart(e.ctx))
	e.scaleUpSays(train, asked.Name, "provisioned at")
	e.deleteRequest(asked)
	e.scaleUpSays(train, "it is tried again at")
	e.startsOnWhatComes(train)
}
