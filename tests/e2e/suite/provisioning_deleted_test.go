package suite

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

// Somebody deletes a ProvisioningRequest of Muster's after its nodes were ordered, and before they are there.

// nodesOrdered is a gang of four nodes that come by a request, of which none is there.
func (e *env) nodesOrdered(name string) (objects.Gang, provisioningRequest) {
	e.t.Helper()
	g := e.gang(name, 4, 8)
	e.add(g)
	asked := e.asksOnce(g)
	e.answers(asked, "Accepted", "Provisioned")
	e.scaleUpSays(g, "provisioned at")
	return g, asked
}

func (e *env) deleteRequest(request provisioningRequest) {
	e.t.Helper()
	e.must(e.Dynamic.Resource(provisioningRequests).Namespace(e.ns).Delete(e.ctx, request.Name, metav1.DeleteOptions{}))
}

// asksAnew waits for another request of the gang, which is for all of it.
func (e *env) asksAnew(g objects.Gang, last provisioningRequest) provisioningRequest {
	e.t.Helper()
	var made []provisioningRequest
	e.eventually(150*time.Second, g.Name+" has another request", func() (err error) {
		made, err = e.requestsOf(g)
		if err == nil && (len(made) != 1 || made[0].UID == last.UID) {
			err = errorf("it has %d; Scale-up: %q; %s", len(made), e.scaleUp(g), e.why(g))
		}
		return err
	})
	e.asksForItself(g, made[0])
	return made[0]
}

func TestAGangWhoseProvisioningRequestIsDeletedIsAskedForAnewAndStartsWhole(t *testing.T) {
	slow(t)
	e := asking(t)
	train, asked := e.nodesOrdered("train")
	e.deleteRequest(asked)
	e.scaleUpSays(train, "failed: it was deleted", "it is tried again at")
	e.addGPUNodes(2)
	e.staysGated(5*time.Second, train)
	again := e.asksAnew(train, asked)
	e.answers(again, "Accepted", "Provisioned")
	e.scaleUpSays(train, again.Name, "provisioned at")
	e.staysGated(3*time.Second, train)
	e.addNodes(objects.Nodes(e.ns+"-late", 2, 8)...)
	e.whole(60*time.Second, train)
	e.wasBoundFor(train, again)
	e.asksNoMore(train)
}

// The nodes come all the same.
func TestAGangWhoseProvisioningRequestIsDeletedStartsWholeOnTheNodesThatCome(t *testing.T) {
	slow(t)
	e := asking(t)
	train, asked := e.nodesOrdered("train")
	e.deleteRequest(asked)
	e.scaleUpSays(train, "it is tried again at")
	e.startsOnWhatComes(train)
}

// startsOnWhatComes has the gang's nodes come one after the other; nothing of what was asked for stays, and nothing is asked for.
func (e *env) startsOnWhatComes(g objects.Gang) {
	e.t.Helper()
	nodes := objects.Nodes(e.ns, g.Members, g.GPUs)
	for _, node := range nodes[1:] {
		e.addNodes(node)
		e.staysGated(time.Second, g)
	}
	e.addNodes(nodes[0])
	e.whole(60*time.Second, g)
	e.asksNoMore(g)
	e.always(3*time.Second, g.Name+" asks for nothing", func() error {
		made, err := e.requestsOf(g)
		if err == nil && len(made) > 0 {
			err = errorf("it has %d", len(made))
		}
		return err
	})
	if n := e.nodesOf(g); n != g.Members {
		e.t.Errorf("it is on %d nodes", n)
	}
}

// Muster does not see it, and knows of no request when it is back.
func TestAGangWhoseProvisioningRequestIsDeletedWhileMusterIsAwayIsAskedForAnew(t *testing.T) {
	slow(t)
	e := asking(t)
	train, asked := e.nodesOrdered("train")
	e.muster.Process.Kill()
	<-e.muster.Process.Done()
	e.deleteRequest(asked)
	e.must(e.muster.Restart(e.ctx))
	again := e.asksAnew(train, asked)
	e.staysGated(3*time.Second, train)
	e.answers(again, "Accepted", "Provisioned")
	e.addGPUNodes(2)
	e.staysGated(3*time.Second, train)
	e.addNodes(objects.Nodes(e.ns+"-late", 2, 8)...)
	e.whole(60*time.Second, train)
	e.wasBoundFor(train, again)
	e.asksNoMore(train)
}
