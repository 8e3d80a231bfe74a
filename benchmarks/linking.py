"""Linking accuracy."""
import gzip, json, sys, time
from pathlib import Path
import pyoxigraph as ox
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.label_rows import label_rows
from kgsparql.label_search import MemoryLabels
from kgsparql.label_index import LabelIndex
from kgsparql.linking import Linker
DATA = Path(__file__).parents[2]/"shared/data"
def load(folder, file="graph.nt.gz"):
    s = ox.Store(); s.bulk_load(gzip.open(DATA/folder/file), format=ox.RdfFormat.N_TRIPLES)
    return OxigraphGraph(s, name=folder, fingerprint=folder)
def flat(links):
    out=[]
    for r in range(21):
        for l in links:
            c=(l,*l.candidates)
            if r<len(c): out.append(c[r].term.value)
    return out
verbose = "-v" in sys.argv
for name in [a for a in sys.argv[1:] if a!="-v"] or ["nobel","ck25","wikidata_qald10","fb15k237","metaqa","orkg"]:
    g=load(name); t=time.time(); rows=label_rows(g); t1=time.time()-t
    t=time.time(); ix=LabelIndex(MemoryLabels(rows)); L=Linker(ix); L.link("warm up"); t2=time.time()-t
    qs=[json.loads(l) for l in open(DATA/name/"questions.jsonl")]
    groups={}
    for q in qs: groups.setdefault((name, q.get("hops") if name in("metaqa","nobel") else ""),[]).append(q)
    for k,g_ in groups.items():
        n=h1=h3=ha=tot=nl=0; t=time.time()
        for q in g_[:300]:
            gold={e["iri"] for e in q["topic_entities"]}
            if not gold: continue
            links=L.link(q["question"]); n+=1; nl+=len(links)
            f=flat(links); h1+=bool(set(f[:1])&gold); h3+=bool(set(f[:3])&gold)
            tot+=len(gold); ha+=len(gold&{l.term.value for l in links})
            if verbose and not set(f[:1])&gold:
                print("  MISS",q["question"],"| gold",[(e["iri"].split("/")[-1],e["label"]) for e in q["topic_entities"]],"| got",[(l.label,l.term.value.split("/")[-1],l.score,l.matched) for l in links[:4]])
        print(f"{k} n={n} rows={len(rows)} read={t1:.2f}s prep={t2:.2f}s top1={100*h1/max(n,1):.1f} top3={100*h3/max(n,1):.1f} recall={100*ha/max(tot,1):.1f} links/q={nl/max(n,1):.2f} ms/q={(time.time()-t)/max(n,1)*1000:.1f}",flush=True)
