// The playground in headless Chromium: a walk as a user takes it, hostile links, and that its policy holds.
//
//   node --experimental-websocket tests/web/playground_test.mjs SITE CHROMIUM [PICTURES]     PICTURES: a folder for screenshots

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { deflateRawSync } from 'node:zlib';

import { pause, serve, startChromium } from './browser.mjs';

const [site, chromium, pictures] = process.argv.slice(2);
const { encodeValue } = await import(pathToFileURL(path.resolve(site, 'link.mjs')));
const { load } = await import(pathToFileURL(path.resolve(site, 'pipeloom.mjs')));
const core = await load();

let checks = 0;
const failures = [];
function check(holds, what) {
  ++checks;
  if (!holds) failures.push(what);
}

const server = await serve(site);
const browser = await startChromium(chromium);
const { page } = browser;
const text = (id) => page.run(`document.getElementById('${id}').textContent`);
const shot = async (name) => {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot(path.join(pictures, `${name}.png`));
};
/** Types into a field as a user does: the value, and the event of it. */
const type = (id, value) =>
  page.run(`{ const field = document.getElementById('${id}'); field.value = ${JSON.stringify(value)}; field.dispatchEvent(new Event('input', { bubbles: true })); }`);
const headline = (words) => page.until(`document.getElementById('headline').textContent.includes(${JSON.stringify(words)})`, `headline ${words}`);
const settled = () => page.until("!['…', 'Every schedule is simulated …'].includes(document.getElementById('advice').textContent)", 'a suggestion');
const nothingSaid = (when) => {
  check(page.console.length === 0, `${when}, console: ${page.console.join(' | ').slice(0, 400)}`);
  page.console.length = 0;
};

const linkOf = async (configuration) => `${server.origin}/#c=${await encodeValue(JSON.stringify(configuration))}`;
const oneF1b = { schedule: '1f1b', ranks: 4, microbatches: 8, costs: { forward: 1, backward: 2 } };

try {
  await page.send('Page.addScriptToEvaluateOnNewDocument', {
    source: "globalThis.violations = []; document.addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective));",
  });

  // Without a fragment: the seven figures, as the core says them here.
  await page.open(`${server.origin}/`);
  await page.until("document.querySelectorAll('#examples li').length === 7", 'seven examples');
  check((await text('examples')).includes('1f1bstep 33, bubble 27.3 %, peak 4 B') || (await text('examples')).includes('step 33'), `examples: ${await text('examples')}`);
  await pause(300);
  await shot('welcome');
  nothingSaid('welcome');
  await page.run("document.querySelector('#examples a').click()");
  await headline('step 33');

  // A link: (m + p - 1)(F + B) = 33, and its picture is there.
  await page.open(await linkOf(oneF1b));
  await headline('1f1b: step 33');
  check(await page.run("document.querySelector('#picture img').naturalHeight > 100"), 'a picture');
  const first = await page.run("performance.getEntriesByName('edit')[0].startTime + performance.getEntriesByName('edit')[0].duration");
  await settled();
  check((await text('advice')).includes('less than this run'), `advice: ${await text('advice')}`);
  await shot('run');
  nothingSaid('a link');

  // An edit in the form changes text, figures and address; the newest of many wins.
  await type('microbatches', '16');
  await headline('step 57');
  check((await page.run("document.getElementById('text').value")).includes('"microbatches": 16'), 'the form writes the text');
  await page.run(`for (let i = 1; i <= 40; ++i) { const field = document.getElementById('microbatches'); field.value = i; field.dispatchEvent(new Event('input', { bubbles: true })); }`);
  await headline('step 129');
  await type('text', JSON.stringify({ ...oneF1b, schedule: 'zb-h1' }));
  await headline('zb-h1: step');
  check(await page.run("document.getElementById('schedule').value") === 'zb-h1', 'the text sets the form');

  // A refused value: the program's own sentence, and the old picture dims until the next edit.
  await type('ranks', '-8');
  await page.until("document.getElementById('sentence').hidden === false", 'a sentence');
  const refusedText = await page.run("document.getElementById('text').value");
  const native = core.call('report', refusedText);
  check(await text('sentence') === native.text, `sentence: ${await text('sentence')}; the core's: ${native.text}`);
  check(await page.run("document.querySelector('#picture').classList.contains('old')"), 'the old picture dims');
  await shot('refused');
  await type('ranks', '4');
  await page.until("document.getElementById('sentence').hidden", 'the sentence goes');
  check(await page.run("!document.querySelector('#picture').classList.contains('old')"), 'the picture is whole again');
  nothingSaid('edits');

  // What if: forward one and a half times as long is 11 * 3.5 = 38.5, beside 33.
  await page.open(await linkOf(oneF1b));
  await headline('step 33');
  await type('by-forward', '1.5');
  await headline('step 38.5');
  check(/what if.*33.*38\.5 \(\+16\.7 %\)/s.test(await text('numbers')), `numbers: ${await text('numbers')}`);
  await type('by-rank', '1.5');
  await type('by-latency', '0.5');
  await pause(300);
  await shot('what-if');
  await page.run("document.getElementById('reset').click()");
  await headline('step 33');
  await type('by-backward', '2');
  await page.run("document.getElementById('take').click()");
  await page.until("document.getElementById('text').value.includes('\"backward\": 4')", 'the text has what was tried');
  await headline('step 55');

  // Compare, copy, and open what was copied.
  await page.run("document.getElementById('compare').click()");
  await type('schedule', 'gpipe');
  await page.until("document.getElementById('other-picture') !== null && document.getElementById('headline').textContent.startsWith('gpipe')", 'two pictures');
  await settled();
  await shot('compare');
  await page.run("document.getElementById('copy').click()");
  await page.until("location.hash.includes('compare=') && location.hash.startsWith('#c=1.')", 'the address');
  const address = await page.run('location.href');
  const configuration = await page.run("document.getElementById('text').value");
  await page.open(address);
  await headline('gpipe: step');
  check(await page.run("document.getElementById('text').value") === configuration, 'the link has the whole run');
  await page.until("document.getElementById('other-picture') !== null", 'the compared run');
  nothingSaid('a round trip');

  // A file beside the page.
  await page.open(`${server.origin}/#u=examples/zb-h1.json`);
  await headline('zb-h1: step');
  nothingSaid('a file beside the page');

  // Where no times are stated, the first that is typed brings the others' defaults with it: (8 + 4 - 1)(1.5 + 2) = 38.5.
  await page.open(await linkOf({ schedule: '1f1b', ranks: 4, microbatches: 8 }));
  await headline('step 33');
  await type('forward', '1.5');
  await headline('step 38.5');
  nothingSaid('a first time');

  // Times: an edit of 8 x 64 to the next frame.
  await page.open(await linkOf({ ...oneF1b, ranks: 8, microbatches: 64 }));
  await headline('step 213');
  const frames = await page.run(`(async () => {
    const out = [];
    for (let i = 0; i < 21; ++i) {
      const field = document.getElementById('forward');
      const begin = performance.now();
      const drawn = new Promise((resolve) => new MutationObserver((_, all) => { all.disconnect(); resolve(); }).observe(document.getElementById('headline'), { childList: true, characterData: true, subtree: true }));
      field.value = 1 + (i + 1) / 50;
      field.dispatchEvent(new Event('input', { bubbles: true }));
      await drawn;
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      out.push(performance.now() - begin);
    }
    return out.sort((a, b) => a - b);
  })()`);
  console.log(`first picture of 1f1b 4 x 8: ${first.toFixed(0)} ms after navigation; an edit of 1f1b 8 x 64 to the frame after it: ` +
    `${frames[0].toFixed(0)} to ${frames.at(-1).toFixed(0)} ms, median ${frames[10].toFixed(0)}`);

  // Hostile links: a sentence each, nothing but it, and no request beyond the page's own place.
  const packed = (bytes) => deflateRawSync(bytes, { level: 9 }).toString('base64url');
  const good = await encodeValue(JSON.stringify(oneF1b));
  const markup = '<img src=x onerror="alert(1)"><script>alert(2)</script>';
  const hostile = [
    [`#c=${good.slice(0, 40)}`, 'cut or damaged'],
    [`#c=${good}AAAA`, 'cut or damaged'],
    [`#c=2${good.slice(1)}`, 'this link is of version 2; this page reads version 1'],
    ['#c=', 'begins with no version'],
    [`#c=1.${packed(Buffer.alloc(20 << 20, 0x20))}`, 'more than 1 MiB'],
    [`#c=1.${'A'.repeat(40000)}`, 'at most 32768 are read'],
    [`#c=1.${packed(Buffer.from([0x7b, 0xff, 0x7d]))}`, 'no text'],
    [`#c=1.${packed('[]')}`, 'holds no configuration'],
    ['#c=1.<svg/onload=alert(1)>', 'no digit of base64url'],
    [`#${markup}=1`, 'unknown parameter'],
    ['#u=https:%2F%2Fexample.org%2Frun.json', 'no path of a file beside the page'],
    ['#u=..%2Fsecret.json', 'no path of a file beside the page'],
    [`#c=${await encodeValue(JSON.stringify({ schedule: markup, ranks: 4, microbatches: 8 }))}`, 'unknown schedule'],
    [`#c=${await encodeValue(JSON.stringify({ schedule: '1f1b', ranks: 1000000, microbatches: 1000000 }))}`, 'error: '],
    [`#c=${await encodeValue(`{"a":${'['.repeat(30000)}}`)}`, 'error: '],
    [`#c=${await encodeValue('{"schedule":"custom","options":{"file":"/etc/passwd"},"ranks":1}')}`, 'error: '],
  ];
  for (const [fragment, words] of hostile) {
    await page.open(`${server.origin}/${fragment}`);
    await page.until("document.getElementById('sentence')?.hidden === false", `a sentence for ${fragment.slice(0, 60)}`);
    const sentence = await text('sentence');
    check(new RegExp(words).test(sentence) && !sentence.includes('\n'), `${fragment.slice(0, 60)}: ${sentence}`);
    check(await page.run("document.querySelectorAll('body script, #sentence *, [onerror], [onload]').length") === 0, `${fragment.slice(0, 60)}: markup`);
    check(await page.run('violations.length') === 0, `${fragment.slice(0, 60)}: violations ${await page.run('violations.join()')}`);
    nothingSaid(fragment.slice(0, 60));
  }
  await page.open(`${server.origin}/#u=absent.json`);
  await page.until("document.getElementById('sentence')?.hidden === false", 'a sentence for an absent file');
  check((await text('sentence')).includes("there is no file 'absent.json' beside this page"), await text('sentence'));
  // The browser says itself that the file is not there, a moment later.
  for (let turns = 0; turns < 100 && page.console.length === 0; ++turns) await pause(50);
  check(page.console.splice(0).join().includes('404'), 'the browser says that a file is absent');

  // A name with markup in a picture that is drawn: a title that the core writes into SVG.
  const foreign = page.requests.filter((url) => !url.startsWith(server.origin) && !/^(blob|data|about|chrome):/.test(url));
  check(foreign.length === 0, `requests to ${foreign.join(', ')}`);

  // Themes and a phone. A page that is open reads its link again when the theme changes.
  await page.open('about:blank');
  await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
  await page.open(await linkOf({ schedule: 'zbv', ranks: 8, microbatches: 24, memory: { limit_bytes: 40 } }));
  await headline('zbv: step');
  await settled();
  await pause(200);
  await shot('dark');
  await page.send('Emulation.setEmulatedMedia', { features: [] });
  await page.send('Emulation.setDeviceMetricsOverride', { width: 390, height: 844, deviceScaleFactor: 2, mobile: true });
  await page.open(await linkOf(oneF1b));
  await headline('step 33');
  await settled();
  await pause(200);
  await shot('phone');
  nothingSaid('themes');

  // The policy does hold: a script in the page, a style and a picture from elsewhere are refused.
  const refused = await page.run(`(async () => {
    const script = document.createElement('script');
    script.textContent = 'globalThis.ran = true';
    document.body.append(script);
    document.body.setAttribute('style', 'color: red');
    const image = new Image();
    image.src = 'https://example.org/x.png';
    await fetch('https://example.org/').catch(() => {});
    let evaluated = true;
    try { (0, eval)('1'); } catch { evaluated = false; }
    await new Promise((resolve) => setTimeout(resolve, 200));
    return { ran: globalThis.ran === true, evaluated, directives: [...new Set(violations)].sort().join() };
  })()`);
  check(!refused.ran && !refused.evaluated, `an inline script: ${refused.ran}, eval: ${refused.evaluated}`);
  for (const directive of ['script-src', 'style-src', 'img-src', 'connect-src'])
    check(refused.directives.includes(directive), `${directive} holds: ${refused.directives}`);
} catch (error) {
  failures.push(error.stack);
  await shot('failure');
} finally {
  await browser.close();
  server.close();
}

console.log(`the playground: ${checks} checks, ${failures.length} failed`);
for (const failure of failures.slice(0, 30)) console.error(`FAILED: ${failure}`);
process.exitCode = failures.length === 0 ? 0 : 1;
