package auditor

import (
	"k8s.io/client-go/tools/cache"
)

// handler calls changed for every object that comes or changes and gone for every one that goes, also where the watch
// missed its end.
func handler[T any](changed, gone func(*T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { changed(object.(*T)) },
		UpdateFunc: func(_, object any) { changed(object.(*T)) },
		DeleteFunc: func(object any) {
			if tombstone, missed := object.(cache.DeletedFinalStateUnknown); missed {
				object = tombstone.Obj
			}
			gone(object.(*T))
		},
	}
}
